// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The parts of a transfer for which NCCL has no single call: sends and receives between the members
// of a group, and sums in an order of comm/sum_order.hpp. issue.hpp decides when to use
// these parts.
//
//   exchange      packs the blocks to send unless all are contiguous; sends and receives them as
//                 one NCCL group, with at most one message to and from each member; unpacks the
//                 received blocks unless all are contiguous in the target
//   sum_my_part   sends each member, in the same way, this rank's addend of that member's part;
//                 then a kernel sums the received addends of this rank's part
//
// Each rank begins with the next member, so that not all ranks send to the same member at the same
// time.

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/nccl/calls.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/support/small_vector.hpp>

namespace ashlar::nccl::detail {

/// Returns whether the blocks are contiguous and fill the array from its element `end` on, one
/// after another.
inline bool follow(std::span<strided_block const> blocks, bool strided_block::*is_run,
                   std::int64_t strided_block::*offset, std::int64_t end = 0) {
  for (auto const& b : blocks) {
    if (b.elements > 0 && !(b.*is_run && b.*offset == end)) return false;
    end += b.elements;
  }
  return true;
}

template <calls Calls>
class exchanger {
 public:
  exchanger(transfer const& what, element_type type, void const* from, void* to, Calls& calls)
      : x_(what), size_(size_of(type)), source_(static_cast<std::byte const*>(from)),
        target_(static_cast<std::byte*>(to)), calls_(calls) {}

 protected:
  using blocks = std::span<strided_block const>;

  strided_block const& mine() const { return x_.receives[my()]; }
  std::size_t my() const { return static_cast<std::size_t>(x_.index); }
  std::byte const* source(std::int64_t elements) const { return source_ + elements * size_; }
  std::byte* target(std::int64_t elements) const { return target_ + elements * size_; }

  /// Returns the blocks of the source as one contiguous array, which is a packed copy if necessary.
  std::byte const* packed(blocks list) {
    if (follow(list, &strided_block::source_is_run, &strided_block::source_offset)) return source_;
    std::int64_t elements = 0;
    for (auto const& b : list) elements += b.elements;
    std::byte* const scratch = calls_.scratch(elements);
    calls_.pack(list, source_, scratch);
    return scratch;
  }

  /// Calls visit(j, block sent to j, block received from j) for each other member j, beginning with
  /// the member after this rank.
  template <class Visit>
  void for_each_other(Visit const& visit) const {
    for (int i = 1; i < x_.members; ++i) {
      auto const j = static_cast<std::size_t>((x_.index + i) % x_.members);
      visit(static_cast<int>(j), x_.sends[j], x_.receives[j]);
    }
  }

  /// Determines the addresses from which the blocks for other members are sent: in the source or in
  /// a packed copy.
  void find_departures() {
    bool all_runs = true;
    std::int64_t elements = 0;
    for_each_other([&](int, strided_block const& sent, strided_block const&) {
      all_runs = all_runs && (sent.elements == 0 || sent.source_is_run);
      elements += sent.elements;
    });
    if (all_runs) {
      for (auto const& b : x_.sends) departures_.push_back(source(b.source_offset));
      return;
    }
    std::byte* const scratch = calls_.scratch(elements);
    std::byte* at = scratch;
    for (auto const& b : x_.sends) {
      departures_.push_back(at);
      if (&b != &x_.sends[my()]) at += b.elements * size_;
    }
    pack(blocks(x_.sends).first(my()), scratch);
    pack(blocks(x_.sends).subspan(my() + 1), scratch + elements_before_me(x_.sends) * size_);
  }
  void pack(blocks list, std::byte* into) {
    for (auto const& b : list)
      if (b.elements > 0) return calls_.pack(list, source_, into);
  }
  std::int64_t elements_before_me(blocks list) const {
    std::int64_t elements = 0;
    for (auto const& b : list.first(my())) elements += b.elements;
    return elements;
  }

  void exchange() {
    find_departures();
    bool all_runs = true;
    std::int64_t arriving = 0, leaving = 0;
    for_each_other([&](int, strided_block const& sent, strided_block const& received) {
      all_runs = all_runs && (received.elements == 0 || received.target_is_run);
      arriving += received.elements;
      leaving += sent.elements;
    });
    std::byte* const scratch = all_runs ? nullptr : calls_.scratch(arriving);
    if (mine().elements > 0) calls_.copy(mine(), source_, target_);
    if (arriving + leaving == 0) return;
    small_vector<std::byte*, 64> arrivals;
    std::byte* at = scratch;
    for (auto const& b : x_.receives) {
      arrivals.push_back(all_runs ? target(b.target_offset) : at);
      if (!all_runs && &b != &mine()) at += b.elements * size_;
    }
    std::span<std::byte* const> const into = arrivals;
    post([&](int j) { return into[static_cast<std::size_t>(j)]; });
    if (all_runs) return;
    unpack(blocks(x_.receives).first(my()), scratch);
    unpack(blocks(x_.receives).subspan(my() + 1),
           scratch + elements_before_me(x_.receives) * size_);
  }
  void unpack(blocks list, std::byte const* from) {
    for (auto const& b : list)
      if (b.elements > 0) return calls_.unpack(list, from, target_);
  }

  /// Sends and receives the blocks as one NCCL group. The block from member j is received at
  /// address arrival(j). In a reduction, all received blocks are addends of this rank's part.
  template <class Arrival>
  void post(Arrival const& arrival) {
    std::span<std::byte const* const> const from = departures_;
    calls_.group_start();
    for_each_other([&](int j, strided_block const& sent, strided_block const& received) {
      std::int64_t const n = x_.reduces() ? mine().elements : received.elements;
      if (sent.elements > 0) calls_.send(from[static_cast<std::size_t>(j)], sent.elements, j);
      if (n > 0) calls_.receive(arrival(j), n, j);
    });
    calls_.group_end();
  }

  /// Sums all members' addends of this rank's part, in the order of the transfer.
  void sum_my_part() {
    int const p = x_.members;
    std::int64_t const n = mine().elements;
    std::int64_t leaving = 0;
    for_each_other(
        [&](int, strided_block const& sent, strided_block const&) { leaving += sent.elements; });
    if (n == 0 && leaving == 0) return;
    find_departures();
    std::byte* const arrivals = n > 0 ? calls_.scratch((p - 1) * n) : nullptr;
    // The addend of member (index + i) mod p is stored at position i - 1.
    auto const place = [&](int j) { return arrivals + ((j - x_.index + p) % p - 1) * n * size_; };
    post(place);
    if (n == 0) return;
    auto const& own = x_.sends[my()];
    std::byte const* own_addend = source(own.source_offset);
    bool const is_overwritten = p > most_addends && own_addend == target(mine().target_offset);
    if (!own.source_is_run || is_overwritten) {
      std::byte* const scratch = calls_.scratch(n);
      calls_.pack({&own, 1}, source_, scratch);
      own_addend = scratch;
    }
    small_vector<std::byte const*, 64> addends;
    for (int i = 0; i < p; ++i) {
      int const j = x_.addend_at(i, x_.index);
      addends.push_back(j == x_.index ? own_addend : place(j));
    }
    calls_.combine(x_.op, addends, target(mine().target_offset), n);
  }

  transfer const& x_;
  std::int64_t size_;
  std::byte const* source_;
  std::byte* target_;
  Calls& calls_;
  small_vector<std::byte const*, 64> departures_;
};

}  // namespace ashlar::nccl::detail
