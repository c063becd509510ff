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
// Only the later tests count as waiting in the rank's flight record (watch/flight_record.hpp).
//
// Patience is short if ranks share cores (shared/settings.hpp). Then another rank may need this
// core to make the condition true.

#include <sched.h>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/comm/shared/settings.hpp>
#include <ashlar/comm/watch/flight_record.hpp>

namespace ashlar::mpi {

class waiting {
 public:
  waiting(operation_queue& operations, watch::flight_record& record, int ranks_on_node)
      : operations_(&operations), record_(&record), patience_(patience_of(ranks_on_node)) {}

  /// Waits until `ended()` is true. Throws ashlar::error if an exception has dropped a transfer,
  /// since other transfers might then never end.
  template <class Condition>
  void until(Condition ended) const {
    unsigned asked = 0;
    for (; asked < patience_; ++asked) {
      if (ended()) return;
      operations_->poll();
      if (asked % 128 != 127) continue;
      operations_->refuse_if_abandoned();
      let_messages_go_on();
    }
    if (ended()) return;
    watch::flight_record::waiting const noted(*record_);
    do {
      operations_->poll();
      operations_->refuse_if_abandoned();
      if (++asked % 4 == 3) let_messages_go_on();
      sched_yield();
    } while (!ended());
  }

  static unsigned patience_of(int ranks_on_node) {
    return shared::ranks_share_cores(ranks_on_node) ? 1 : 2000;
  }

 private:
  operation_queue* operations_;
  watch::flight_record* record_;
  unsigned patience_;
};

}  // namespace ashlar::mpi
