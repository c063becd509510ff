// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer as messages. advance() never waits; wait() sleeps in MPI.
//
//   all_gather, all_to_all, permute, reduce_scatter   one pairwise exchange
//   all_reduce, two members                           one: the whole arrays cross and are added
//   all_reduce, more                                  two: reduce my part, then gather all parts

#include <optional>

#include <ashlar/comm/mpi/pairwise_exchange.hpp>

namespace ashlar::mpi {

template <class T>
class message_transfer {
 public:
  /// Begins to send and to receive. `what` must outlive the transfer.
  message_transfer(transfer const& what, T const* source, T* target, MPI_Comm comm, arena& memory)
      : what_(&what), target_(target), comm_(comm), memory_(&memory) {
    pairwise_task task{what.sends, what.receives};
    task.index = what.index;
    task.reduces = what.reduces();
    task.op = what.op;
    if (!task.reduces) task.own = &what.receives[static_cast<std::size_t>(what.index)];
    phase_.emplace(task, source, target, comm, datatype_of(element_type_of<T>), memory);
    gathers_ = what.kind == collective::all_reduce;
  }

  bool advance() {
    if (!phase_->advance()) return false;
    if (!gathers_) return true;
    begin_gathering();
    return phase_->advance();
  }
  void wait() {
    phase_->wait();
    if (!gathers_) return;
    begin_gathering();
    phase_->wait();
  }

 private:
  void begin_gathering() {
    gathers_ = false;
    pairwise_task task{std::span(&what_->receives[static_cast<std::size_t>(what_->index)], 1),
                       what_->receives};
    task.index = what_->index;
    phase_.emplace(task, target_, target_, comm_, datatype_of(element_type_of<T>), *memory_);
  }

  transfer const* what_;
  T* target_;
  MPI_Comm comm_;
  arena* memory_;
  bool gathers_ = false;
  std::optional<pairwise_exchange<T>> phase_;
};

}  // namespace ashlar::mpi
