// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer as messages, by an algorithm of choice.hpp. advance() never waits; wait() sleeps in MPI.
//
//                                       pairwise          ring                      library
//   all_gather                          one exchange      ring all-gather           one call
//   reduce_scatter                      one exchange      ring reduce-scatter       one call
//   all_reduce                          two exchanges:    ring reduce-scatter,      one call
//                                       reduce my part,   ring all-gather
//                                       gather all parts
//   all_reduce of two members, up to    one exchange: the whole arrays cross
//     `crossing_bytes`, any order
//   all_to_all, permute                 one exchange
//
// Each of them receives the same bytes. One that is dropped before its end, by an exception, does not
// wait for members that may never come: it leaves its messages to MPI and retires the arena.

#include <variant>

#include <ashlar/comm/mpi/choice.hpp>
#include <ashlar/comm/mpi/library_collective.hpp>
#include <ashlar/comm/mpi/pairwise_exchange.hpp>
#include <ashlar/comm/mpi/ring_all_gather.hpp>
#include <ashlar/comm/mpi/ring_reduce_scatter.hpp>

namespace ashlar::mpi {

/// Up to here two members reduce a whole all-reduce both: one message less to wait for is worth
/// more than half of the additions.
inline constexpr std::int64_t crossing_bytes = 128 * 1024;

class message_transfer {
 public:
  /// Begins to send and to receive. `what` must outlive the transfer. All members give the same
  /// `take`, one that may carry it.
  message_transfer(transfer const& what, element_pointer source, element_pointer target,
                   MPI_Comm comm, arena& memory, algorithm take = algorithm::pairwise)
      : what_(&what), target_(target), comm_(comm), memory_(&memory), take_(take) {
    if (take == algorithm::library) {
      phase_.emplace<library_collective>(what, source, target, comm, memory);
    } else if (what.reduces()) {
      begin_reducing(source);
    } else if (take == algorithm::ring) {
      phase_.emplace<ring_all_gather>(what.receives, what.index, source, target, comm, memory);
    } else {
      pairwise_task task{what.sends, what.receives, what.members};
      task.index = what.index;
      task.own = &mine();
      phase_.emplace<pairwise_exchange>(task, source, target, comm, memory);
    }
  }

  bool advance() {
    if (!phase_ended()) return false;
    if (!gathers_) return true;
    begin_gathering();
    return phase_ended();
  }
  void wait() {
    wait_for_phase();
    if (!gathers_) return;
    begin_gathering();
    wait_for_phase();
  }

 private:
  strided_block const& mine() const {
    return what_->receives[static_cast<std::size_t>(what_->index)];
  }

  void begin_reducing(element_pointer source) {
    transfer const& x = *what_;
    gathers_ = x.kind == collective::all_reduce;
    if (take_ == algorithm::ring) {
      phase_.emplace<ring_reduce_scatter>(x.sends, mine(), x.index, x.op, source, target_, comm_,
                                          *memory_);
      return;
    }
    pairwise_task task{x.sends, {&mine(), 1}, x.members};
    task.index = x.index;
    task.reduces = true;
    task.op = x.op;
    std::int64_t const elements = x.from.elements();
    if (gathers_ && x.members == 2 && elements * source.size() <= crossing_bytes &&
        order_is_free(source.type(), x.op, 2)) {
      gathers_ = false;
      whole_ = ashlar::detail::flat_block({0, elements}, elements);
      task.sends = task.receives = {&whole_, 1};
    }
    phase_.emplace<pairwise_exchange>(task, source, target_, comm_, *memory_);
  }

  void begin_gathering() {
    transfer const& x = *what_;
    gathers_ = false;
    if (take_ == algorithm::ring) {
      phase_.emplace<ring_all_gather>(x.receives, x.index, element_pointer(), target_, comm_,
                                      *memory_);
      return;
    }
    pairwise_task task{{&mine(), 1}, x.receives, x.members};
    task.index = x.index;
    phase_.emplace<pairwise_exchange>(task, target_, target_, comm_, *memory_);
  }

  bool phase_ended() {
    return std::visit(
        [](auto& phase) {
          if constexpr (std::is_same_v<decltype(phase), std::monostate&>) return true;
          else return phase.advance();
        },
        phase_);
  }
  void wait_for_phase() {
    std::visit(
        [](auto& phase) {
          if constexpr (!std::is_same_v<decltype(phase), std::monostate&>) phase.wait();
        },
        phase_);
  }

  transfer const* what_;
  element_pointer target_;
  MPI_Comm comm_;
  arena* memory_;
  algorithm take_;
  bool gathers_ = false;
  strided_block whole_;
  std::variant<std::monostate, pairwise_exchange, ring_reduce_scatter, ring_all_gather,
               library_collective>
      phase_;
};

}  // namespace ashlar::mpi
