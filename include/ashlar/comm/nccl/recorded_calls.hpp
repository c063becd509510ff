// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Records the calls of transfers (issue.hpp) instead of executing them, for dry runs and for tests.
// This needs no NCCL, no device and no memory: pointers are stored but not dereferenced.
//
// A call with p members and a count of n receives this number of elements:
//
//   all_gather, all_to_all, reduce_scatter   (p - 1) n
//   all_reduce                               (p - 1) b + (n - b), b: elements of the rank's part
//   receive                                  n
//   broadcast                                0 on the root, else n
//   reduce                                   (p - 1) n on the root, else 0
//   all others                               0

#include <string>
#include <vector>

#include <ashlar/comm/nccl/issue.hpp>

namespace ashlar::nccl {

enum class call_kind : signed char {
  group_start,
  group_end,
  send,
  receive,
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  broadcast,
  reduce,
  copy,
  pack,
  unpack,
  combine
};

constexpr char const* to_string(call_kind kind) {
  constexpr char const* names[] = {
      "group-start", "group-end", "send",   "receive", "all-gather", "reduce-scatter", "all-reduce",
      "all-to-all",  "broadcast", "reduce", "copy",    "pack",       "unpack",         "combine"};
  return names[static_cast<int>(kind)];
}
/// Returns whether other ranks take part in a call of this kind.
constexpr bool communicates(call_kind kind) {
  return kind >= call_kind::send && kind <= call_kind::reduce;
}

struct recorded_call {
  call_kind kind = call_kind::copy;
  std::int64_t count = 0;  ///< number of elements, as in the argument of the call
  int peer = -1;           ///< index of the other member of a send or receive, or of the root
  reduction op = reduction::sum;
  element_type type = element_type::f32;
  axis_list axes;  ///< the axes of the group
  int members = 1;
  int index = 0;  ///< position of this rank in the group
  std::byte const* from = nullptr;
  std::byte* to = nullptr;
  std::vector<strided_block> blocks;        ///< blocks of copy, pack and unpack
  std::vector<std::byte const*> addends{};  ///< addends of combine

  std::int64_t received_bytes() const { return received_elements() * size_of(type); }

 private:
  std::int64_t received_elements() const {
    switch (kind) {
      case call_kind::receive: return count;
      case call_kind::all_gather:
      case call_kind::reduce_scatter:
      case call_kind::all_to_all: return (members - 1) * count;
      case call_kind::all_reduce: {
        auto const part = balanced_part({0, count}, members, index).size;
        return (members - 1) * part + (count - part);
      }
      case call_kind::broadcast: return index == peer ? 0 : count;
      case call_kind::reduce: return index == peer ? (members - 1) * count : 0;
      default: return 0;
    }
  }
};

/// Appends the calls of a transfer or a crossing to a list. memory(bytes) returns scratch memory as
/// a std::byte*.
template <class Memory>
class recorded_calls {
 public:
  recorded_calls(transfer const& x, element_type type, std::vector<recorded_call>& list,
                 Memory memory)
      : list_(list), memory_(std::move(memory)) {
    like_.type = type;
    like_.axes = x.axes;
    like_.members = x.members;
    like_.index = x.index;
  }

  /// Records messages of a crossing (issue_crossing.hpp), whose peers are ranks of the whole mesh.
  recorded_calls(element_type type, std::vector<recorded_call>& list, Memory memory)
      : list_(list), memory_(std::move(memory)) {
    like_.type = type;
  }

  void group_start() { add(call_kind::group_start, nullptr, nullptr, 0); }
  void group_end() { add(call_kind::group_end, nullptr, nullptr, 0); }
  void send(std::byte const* from, std::int64_t n, int peer) {
    add(call_kind::send, from, nullptr, n).peer = peer;
  }
  void receive(std::byte* to, std::int64_t n, int peer) {
    add(call_kind::receive, nullptr, to, n).peer = peer;
  }
  void all_gather(std::byte const* from, std::byte* to, std::int64_t n) {
    add(call_kind::all_gather, from, to, n);
  }
  void reduce_scatter(std::byte const* from, std::byte* to, std::int64_t n, reduction op) {
    add(call_kind::reduce_scatter, from, to, n).op = op;
  }
  void all_reduce(std::byte const* from, std::byte* to, std::int64_t n, reduction op) {
    add(call_kind::all_reduce, from, to, n).op = op;
  }
  void all_to_all(std::byte const* from, std::byte* to, std::int64_t n) {
    add(call_kind::all_to_all, from, to, n);
  }
  void broadcast(std::byte const* from, std::byte* to, std::int64_t n, int root) {
    add(call_kind::broadcast, from, to, n).peer = root;
  }
  void reduce(std::byte const* from, std::byte* to, std::int64_t n, reduction op, int root) {
    auto& call = add(call_kind::reduce, from, to, n);
    call.op = op;
    call.peer = root;
  }
  void copy(strided_block const& b, std::byte const* from, std::byte* to) {
    add(call_kind::copy, from, to, b.elements).blocks = {b};
  }
  void pack(std::span<strided_block const> list, std::byte const* from, std::byte* to) {
    add(call_kind::pack, from, to, elements(list)).blocks.assign(list.begin(), list.end());
  }
  void unpack(std::span<strided_block const> list, std::byte const* from, std::byte* to) {
    add(call_kind::unpack, from, to, elements(list)).blocks.assign(list.begin(), list.end());
  }
  void combine(reduction op, std::span<std::byte const* const> addends, std::byte* to,
               std::int64_t n) {
    auto& call = add(call_kind::combine, nullptr, to, n);
    call.op = op;
    call.addends.assign(addends.begin(), addends.end());
  }
  std::byte* scratch(std::int64_t n) { return memory_(n * size_of(like_.type)); }

 private:
  static std::int64_t elements(std::span<strided_block const> list) {
    std::int64_t sum = 0;
    for (auto const& b : list) sum += b.elements;
    return sum;
  }
  recorded_call& add(call_kind kind, std::byte const* from, std::byte* to, std::int64_t n) {
    recorded_call call = like_;
    call.kind = kind;
    call.from = from;
    call.to = to;
    call.count = n;
    list_.push_back(std::move(call));
    return list_.back();
  }

  std::vector<recorded_call>& list_;
  Memory memory_;
  recorded_call like_;
};

}  // namespace ashlar::nccl
