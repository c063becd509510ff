// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The seconds of a program if no transfer runs beside a computation or another transfer. The search
// minimizes this number unless problem::overlap is set. Here it is computed from the actions of the
// program.
//
//   work            computations, on the busiest rank
//   communication   redistributions, exchanges of halos and exchanges of rows; not the sends and
//                   receives of a pipeline
//
// A bucket is a set of redistributions that share their messages (transfer.hpp). So a program with
// buckets takes no more time than the same program without buckets.

#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

struct serial_time {
  double work = 0;           ///< seconds of computations
  double communication = 0;  ///< seconds of redistributions and exchanges
  constexpr double seconds() const { return work + communication; }
};

constexpr serial_time serial_seconds(program const& p, machine const& m) {
  serial_time time;
  for (int i = 0; i < static_cast<int>(p.actions.size()); ++i) {
    action const& a = p.actions[static_cast<std::size_t>(i)];
    time.work += a.seconds;
    time.communication += a.halo_seconds + a.rows_seconds;
    if (a.kind != action_kind::begin_move) continue;
    if (p.move_of(a).bucket < 0) {
      time.communication += p.path_of(p.move_of(a)).seconds;
      continue;
    }
    auto const together = departure::at(p, i);
    for (int k = 0; k < p.path_of(p.move_of(a)).steps.size(); ++k)
      time.communication += transfer_seconds(p, together, k, m).sum();
    i = together.end - 1;
  }
  return time;
}

}  // namespace step
}  // namespace ashlar::search
