// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer that is sent as messages, by an algorithm of algorithm_table.hpp. advance() never
// waits. wait() blocks in MPI.
//
//                                 pairwise            ring                        library
//   all_gather                    one exchange        ring all-gather             one call
//   reduce_scatter                one exchange        ring reduce-scatter up to   one call
//                                                     the length of the shortest
//                                                     block, then one exchange
//                                                     for the rest
//   all_reduce                    two exchanges:      reduce-scatter as above,    one call
//                                 reduce my part,     then ring all-gather
//                                 gather all parts
//   small all_reduce of 2 ranks   one exchange of     one exchange of the whole   one call
//                                 the whole arrays    arrays
//   all_to_all, permute,          one exchange
//   broadcast, reduce
//
// arrays_cross (machine/collective.hpp) tells whether an all-reduce is small in this sense. With
// the algorithms pairwise and ring, each rank receives exactly the bytes that the plan predicts.
//
// If an exception destroys a transfer before its end, the destructor does not wait, because other
// members may never respond. The destructor leaves the messages to MPI and retires the arena
// (arena::retire).

#include <utility>
#include <variant>

#include <ashlar/comm/mpi/algorithm_table.hpp>
#include <ashlar/comm/mpi/library_collective.hpp>
#include <ashlar/comm/mpi/pairwise_exchange.hpp>
#include <ashlar/comm/mpi/ring_all_gather.hpp>
#include <ashlar/comm/mpi/ring_reduce_scatter.hpp>

namespace ashlar::mpi {

class message_transfer {
 public:
  /// Begins to send and to receive. `what` must outlive the transfer. All members must give the
  /// same algorithm `use`, which must be one that may carry the transfer (algorithm_table.hpp).
  message_transfer(transfer const& what, element_pointer source, element_pointer target,
                   MPI_Comm comm, arena& memory, algorithm use = algorithm::pairwise)
      : what_(&what), source_(source), target_(target), comm_(comm), memory_(&memory),
        algorithm_(use) {
    if (use == algorithm::library) {
      phase_.emplace<library_collective>(what, source, target, comm, memory);
    } else if (what.reduces()) {
      begin_reducing();
    } else if (use == algorithm::ring) {
      phase_.emplace<ring_all_gather>(what.receives, what.index, source, target, comm, memory);
    } else {
      pairwise_task task{what.sends, what.receives, what.members};
      task.index = what.index;
      task.own = &mine();
      phase_.emplace<pairwise_exchange>(task, source, target, comm, memory);
    }
  }

  bool advance() {
    while (phase_ended())
      if (!begin_next()) return true;
    return false;
  }
  void wait() {
    do wait_for_phase();
    while (begin_next());
  }

 private:
  strided_block const& mine() const {
    return what_->receives[static_cast<std::size_t>(what_->index)];
  }

  void begin_reducing() {
    transfer const& x = *what_;
    if (x.kind == collective::all_reduce && arrays_cross(x.members, x.from.elements())) {
      std::int64_t const elements = x.from.elements();
      whole_ = ashlar::detail::flat_block({0, elements}, elements);
      pairwise_task task = reduction_task({&whole_, 1}, whole_);
      task.parts = x.receives;
      phase_.emplace<pairwise_exchange>(task, source_, target_, comm_, *memory_);
      return;
    }
    gathers_ = x.kind == collective::all_reduce;
    if (algorithm_ == algorithm::ring) {
      leaves_rest_ = shortest_of(x.sends) < longest_of(x.sends);
      phase_.emplace<ring_reduce_scatter>(x.sends, mine(), x.index, x.op, source_, target_, comm_,
                                          *memory_);
    } else {
      phase_.emplace<pairwise_exchange>(reduction_task(x.sends, mine()), source_, target_, comm_,
                                        *memory_);
    }
  }

  pairwise_task reduction_task(std::span<strided_block const> sends,
                               strided_block const& result) const {
    pairwise_task task{sends, {&result, 1}, what_->members};
    task.index = what_->index;
    task.reduces = true;
    task.op = what_->op;
    task.sums = what_->sums;
    return task;
  }

  /// Begins the next phase, such as the gather after the reduction. Returns false if there is no
  /// next phase.
  bool begin_next() {
    if (std::exchange(leaves_rest_, false)) {
      pairwise_task task = reduction_task(what_->sends, mine());
      task.first = shortest_of(what_->sends);
      phase_.emplace<pairwise_exchange>(task, source_, target_, comm_, *memory_);
      return true;
    }
    if (!std::exchange(gathers_, false)) return false;
    transfer const& x = *what_;
    if (algorithm_ == algorithm::ring) {
      phase_.emplace<ring_all_gather>(x.receives, x.index, element_pointer(), target_, comm_,
                                      *memory_);
    } else {
      pairwise_task task{{&mine(), 1}, x.receives, x.members};
      task.index = x.index;
      phase_.emplace<pairwise_exchange>(task, target_, target_, comm_, *memory_);
    }
    return true;
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
  element_pointer source_, target_;
  MPI_Comm comm_;
  arena* memory_;
  algorithm algorithm_;
  bool leaves_rest_ = false;  // whether an exchange must follow for the rest of longer blocks
  bool gathers_ = false;
  strided_block whole_;
  std::variant<std::monostate, pairwise_exchange, ring_reduce_scatter, ring_all_gather,
               library_collective>
      phase_;
};

}  // namespace ashlar::mpi
