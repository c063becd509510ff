// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a rank of a mesh waits: it lets the mesh's transfers go on and asks again.
//
//   its first `patience` questions   at once; every 128th time MPI may bring messages on their way
//   then                             after other threads of this core had their turn; every 4th time MPI
//                                    too, whose turn takes as long as theirs
//
// Patience is short where ranks share cores (shared/settings.hpp): what one waits for may need the core
// on which it asks.

#include <thread>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/comm/shared/settings.hpp>

namespace ashlar::mpi {

class waiting {
 public:
  waiting(operation_queue& order, int ranks_on_node)
      : operations_(&order), patience_(patience_of(ranks_on_node)) {}

  /// Throws ashlar::error if an exception dropped a transfer, since others may then never end.
  template <class Condition>
  void until(Condition ended) const {
    for (unsigned asked = 0; !ended(); ++asked) {
      operations_->poll();
      bool const is_patient = asked < patience_;
      if (is_patient && asked % 128 != 127) continue;
      operations_->refuse_if_abandoned();
      if (is_patient || asked % 4 == 3) let_messages_go_on();
      if (!is_patient) std::this_thread::yield();
    }
  }

  static unsigned patience_of(int ranks_on_node) {
    return shared::ranks_share_cores(ranks_on_node) ? 1 : 2000;
  }

 private:
  operation_queue* operations_;
  unsigned patience_;
};

}  // namespace ashlar::mpi
