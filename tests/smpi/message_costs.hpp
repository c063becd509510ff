// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes a simulated network follow the α-β model. A message of n bytes takes n β on its links, and
// longer if other messages share these links. Then the receiving rank is busy for α:
//
//   from a rank of the same node   α intra
//   from another node              α inter
//
// SMPI charges a receiver only for messages that are buffered at the sender, so this header makes
// SMPI buffer all messages. Deadlocks of sends that wait for their receives are then not detected.
// tests/smpi/pairs.cpp detects such deadlocks, because it does not use this header.

#include <climits>

#include <mpi.h>
#include <simgrid/s4u/Host.hpp>
#include <xbt/config.hpp>

#include <ashlar/machine/machine.hpp>

namespace ashlar_test {

inline void charge_each_message(ashlar::machine const& m) {
  simgrid::config::set_value<int>("smpi/send-is-detached-thresh", INT_MAX);
  smpi_register_op_cost_callback(
      SmpiOperation::RECV, [intra = m.intra.alpha, inter = m.inter.alpha](
                               std::size_t, simgrid::s4u::Host* from, simgrid::s4u::Host* to) {
        return from->get_englobing_zone() == to->get_englobing_zone() ? intra : inter;
      });
}

}  // namespace ashlar_test
