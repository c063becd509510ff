// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a rank of a mesh waits: it lets the mesh's transfers go on and asks again.
//
//   its first `patience` questions   at once; every 128th time MPI may bring messages on their way
//   then                             after MPI had its turn, and other threads of this core
//
// Patience is short where the ranks of the node are more than its cores: what one waits for may need
// the core on which it asks.

#include <thread>

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/progress.hpp>

namespace ashlar::mpi {

class waiting {
 public:
  waiting(progress& order, int ranks_on_node)
      : order_(&order), patience_(patience_of(ranks_on_node)) {}

  /// Throws ashlar::error if an exception dropped a transfer, since others may then never end.
  template <class Condition>
  void until(Condition ended) const {
    for (unsigned asked = 0; !ended(); ++asked) {
      order_->poll();
      bool const is_patient = asked < patience_;
      if (is_patient && asked % 128 != 127) continue;
      order_->refuse_if_abandoned();
      let_messages_go_on();
      if (!is_patient) std::this_thread::yield();
    }
  }

  static unsigned patience_of(int ranks_on_node) {
    return static_cast<unsigned>(ranks_on_node) <= std::thread::hardware_concurrency() ? 2000 : 1;
  }

 private:
  progress* order_;
  unsigned patience_;
};

}  // namespace ashlar::mpi
