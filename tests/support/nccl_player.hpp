// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Executes the NCCL calls of all ranks of a mesh in host memory. comm/nccl/recorded_calls.hpp
// records the calls. NCCL's rules are implemented here independently of the library's transports.
// Each rank has one stream, on which a call begins when the previous call has ended.
//
//   a collective       ends when all members of its group have reached a collective of the same
//                      kind, count, type and operation; any mismatch is an error
//   sends, receives    those of one NCCL group start together and end together; between two ranks
//                      the first send matches the first receive, with equal count and type
//   deadlock           if no rank can continue: an error that names the position of each rank
//
// Collectives add values starting at member 0. The library's transports add in another order.

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ashlar/comm/element_pointer.hpp>
#include <ashlar/comm/nccl/recorded_calls.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar_test {

class nccl_player {
 public:
  using call = ashlar::nccl::recorded_call;
  using kind = ashlar::nccl::call_kind;

  explicit nccl_player(ashlar::topology const& t)
      : topology_(t), ranks_(static_cast<std::size_t>(t.ranks())) {}

  /// Appends one rank's calls for a transfer. run() executes them.
  void issue(int rank, ashlar::transfer const& x, ashlar::element_type type, void const* source,
             void* target, ashlar::nccl::sums how) {
    ashlar::nccl::recorded_calls calls(x, type, at(rank).calls,
                                       [this](std::int64_t bytes) { return memory(bytes); });
    ashlar::nccl::issue(x, type, source, target, how, calls);
  }

  std::vector<call> const& calls(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)].calls;
  }

  /// Returns memory that lives as long as this object, filled with bytes 0xa5 to expose
  /// uninitialized reads.
  std::byte* memory(std::int64_t bytes) {
    memory_.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes)));
    std::memset(memory_.back().get(), 0xa5, static_cast<std::size_t>(bytes));
    return memory_.back().get();
  }

  /// Runs all calls to their end. Throws std::logic_error if NCCL would fail or wait forever.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < topology_.ranks(); ++r) moved = step(r) || moved;
    }
    for (int r = 0; r < topology_.ranks(); ++r) {
      if (ended(r)) continue;
      std::string where = "deadlock:";
      for (int q = 0; q < topology_.ranks(); ++q)
        where += " rank " + std::to_string(q) +
                 (ended(q) ? " has ended;"
                           : std::string(" at ") + to_string(current(q).kind) + " " +
                                 std::to_string(at(q).at) + ";");
      throw std::logic_error(where);
    }
  }

 private:
  struct stream {
    std::vector<call> calls;
    std::size_t at = 0;
    bool posted = false;  // whether the sends and receives of the current group are posted
  };

  stream& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  bool ended(int rank) { return at(rank).at == at(rank).calls.size(); }
  call const& current(int rank) { return at(rank).calls[at(rank).at]; }

  int member(int rank, call const& c, int index) const {
    return topology_.rank_of(topology_.member(topology_.coordinates_of(rank), c.axes, index));
  }

  /// Executes the rank's current call if possible. Returns whether the rank made progress.
  bool step(int rank) {
    if (ended(rank)) return false;
    call const& c = current(rank);
    switch (c.kind) {
      case kind::group_start:
      case kind::send:
      case kind::receive: return step_group(rank);
      case kind::group_end: throw std::logic_error("a group ends that did not begin");
      case kind::all_gather:
      case kind::reduce_scatter:
      case kind::all_reduce:
      case kind::all_to_all:
      case kind::broadcast:
      case kind::reduce: return step_collective(rank);
      default:
        run_local(c);
        ++at(rank).at;
        return true;
    }
  }

  // ---- local operations

  static void run_local(call const& c) {
    ashlar::element_pointer from(c.from, c.type), to(c.to, c.type);
    std::int64_t packed = 0;
    for (auto const& b : c.blocks) {
      if (b.elements == 0) continue;
      if (c.kind == kind::copy) copy(b, from, to);
      else if (c.kind == kind::pack) copy_range(b, 0, b.elements, from, to + packed, false, true);
      else copy_range(b, 0, b.elements, from + packed, to, true, false);
      packed += b.elements;
    }
    if (c.kind != kind::combine) return;
    std::vector<void const*> addends(c.addends.begin(), c.addends.end());
    ashlar::reduce_runs(c.op, c.count, addends, to);
  }

  // ---- sends and receives

  struct post {
    std::byte const* from;
    std::byte* to;
    std::int64_t count;
    ashlar::element_type type;
    int rank;  ///< the rank whose group waits for this operation
  };
  // Identifies a stream of messages: the members of the group, the sender and the receiver.
  using channel = std::tuple<std::vector<int>, int, int>;

  std::vector<int> ranks_of(int rank, call const& c) const {
    std::vector<int> all;
    for (int j = 0; j < c.members; ++j) all.push_back(member(rank, c, j));
    return all;
  }

  bool step_group(int rank) {
    auto& s = at(rank);
    bool moved = false;
    if (!s.posted) {
      bool const is_group = current(rank).kind == kind::group_start;
      open_[rank] = 0;
      std::size_t i = s.at + (is_group ? 1 : 0);
      for (; i < s.calls.size() && s.calls[i].kind != kind::group_end; ++i) {
        post_one(rank, s.calls[i]);
        if (!is_group) break;
      }
      if (i == s.calls.size()) throw std::logic_error("a group does not end");
      s.posted = true;
      end_[rank] = i + 1;
      moved = true;
    }
    if (open_[rank] > 0) return moved;
    s.at = end_[rank];
    s.posted = false;
    return true;
  }

  void post_one(int rank, call const& c) {
    if (c.kind != kind::send && c.kind != kind::receive)
      throw std::logic_error(std::string("in a group: ") + to_string(c.kind));
    if (c.peer == c.index || c.peer < 0 || c.peer >= c.members || c.count <= 0)
      throw std::logic_error("a send or receive without elements or without a partner");
    bool const sends = c.kind == kind::send;
    int const peer = member(rank, c, c.peer);
    channel const where{ranks_of(rank, c), sends ? rank : peer, sends ? peer : rank};
    auto& mine = (sends ? sent_ : wanted_)[where];
    auto& theirs = (sends ? wanted_ : sent_)[where];
    post const p{c.from, c.to, c.count, c.type, rank};
    if (theirs.empty()) {
      mine.push_back(p);
      ++open_[rank];
      return;
    }
    post const q = theirs.front();
    theirs.erase(theirs.begin());
    if (q.count != p.count || q.type != p.type)
      throw std::logic_error("a send of " + std::to_string(p.count) + " meets a receive of " +
                             std::to_string(q.count));
    std::memcpy(sends ? q.to : p.to, sends ? p.from : q.from,
                static_cast<std::size_t>(p.count * size_of(p.type)));
    --open_[q.rank];
  }

  // ---- collectives

  bool step_collective(int rank) {
    call const first = current(rank);
    std::vector<call const*> all;
    for (int j = 0; j < first.members; ++j) {
      int const r = member(rank, first, j);
      if (ended(r)) return false;
      call const& c = current(r);
      if (at(r).posted || !communicates(c.kind) || !(c.axes == first.axes)) return false;
      if (c.kind != first.kind || c.count != first.count || c.type != first.type ||
          c.op != first.op || c.peer != first.peer || c.index != j)
        throw std::logic_error(std::string(to_string(c.kind)) + " of " + std::to_string(c.count) +
                               " meets " + to_string(first.kind) + " of " +
                               std::to_string(first.count));
      all.push_back(&c);
    }
    if (first.count <= 0) throw std::logic_error("a collective of nothing");
    play(all);
    for (int j = 0; j < first.members; ++j) ++at(member(rank, first, j)).at;
    return true;
  }

  static void play(std::vector<call const*> const& all) {
    call const& first = *all[0];
    auto const p = all.size();
    auto const bytes = static_cast<std::size_t>(first.count * size_of(first.type));
    std::vector<std::vector<std::byte>> results;
    for (std::size_t j = 0; j < p; ++j) {
      std::vector<std::byte> result(
          bytes * (first.kind == kind::all_gather || first.kind == kind::all_to_all ? p : 1));
      for (std::size_t i = 0; i < p; ++i) {
        if (first.kind == kind::all_gather)
          std::memcpy(result.data() + i * bytes, all[i]->from, bytes);
        if (first.kind == kind::all_to_all)
          std::memcpy(result.data() + i * bytes, all[i]->from + j * bytes, bytes);
      }
      if (first.kind == kind::broadcast)
        std::memcpy(result.data(), all[static_cast<std::size_t>(first.peer)]->from, bytes);
      if (first.kind == kind::all_reduce || first.kind == kind::reduce_scatter ||
          first.kind == kind::reduce) {
        std::vector<void const*> addends;
        for (auto const* c : all)
          addends.push_back(c->from + (first.kind == kind::reduce_scatter ? j * bytes : 0));
        ashlar::reduce_runs(first.op, first.count, addends,
                            ashlar::element_pointer(result.data(), first.type));
      }
      results.push_back(std::move(result));
    }
    for (std::size_t j = 0; j < p; ++j)
      if (first.kind != kind::reduce || static_cast<int>(j) == first.peer)
        std::memcpy(all[j]->to, results[j].data(), results[j].size());
  }

  ashlar::topology topology_;
  std::vector<stream> ranks_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::map<channel, std::vector<post>> sent_, wanted_;
  // For each rank, the number of unmatched operations in its current group.
  std::map<int, int> open_;
  // For each rank, the index of the first call after its current group.
  std::map<int, std::size_t> end_;
};

}  // namespace ashlar_test
