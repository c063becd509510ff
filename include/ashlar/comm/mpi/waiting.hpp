// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The loop in which a rank waits for a condition. It advances the mesh's pending transfers and
// tests the condition.
//
//   first `patience` tests   without a pause; every 128th time it lets MPI make progress
//   later tests              each time it yields to other threads on its core; every 4th time it
//                            lets MPI make progress, which takes about as long as a yield
//
// Patience is short if ranks share cores (shared/settings.hpp). Then another rank may need this
// core to make the condition true.

#include <sched.h>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/comm/shared/settings.hpp>

namespace ashlar::mpi {

class waiting {
 public:
  waiting(operation_queue& operations, int ranks_on_node)
      : operations_(&operations), patience_(patience_of(ranks_on_node)) {}

  /// Waits until `ended()` is true. Throws ashlar::error if an exception has dropped a transfer,
  /// since other transfers might then never end.
  template <class Condition>
  void until(Condition ended) const {
    for (unsigned asked = 0; !ended(); ++asked) {
      operations_->poll();
      bool const is_patient = asked < patience_;
      if (is_patient && asked % 128 != 127) continue;
      operations_->refuse_if_abandoned();
      if (is_patient || asked % 4 == 3) let_messages_go_on();
      if (!is_patient) sched_yield();
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
