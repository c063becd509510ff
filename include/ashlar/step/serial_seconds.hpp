// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How long a program takes if nothing happens beside anything else: the objective of the search
// (problem.hpp), read off the actions.
//
//   work            computations, on the busiest rank
//   communication   moves, and the halos that go with computations
//
// A bucket's moves share their messages (transfer.hpp), so that a program with buckets takes less.

#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

struct serial_time {
  double work = 0;           ///< seconds
  double communication = 0;  ///< seconds
  constexpr double seconds() const { return work + communication; }
};

constexpr serial_time serial_seconds(program const& p, machine const& m) {
  serial_time time;
  for (int i = 0; i < static_cast<int>(p.actions.size()); ++i) {
    action const& a = p.actions[static_cast<std::size_t>(i)];
    time.work += a.seconds;
    time.communication += a.halo_seconds;
    if (a.kind != action_kind::begin_move) continue;
    if (p.move_of(a).bucket < 0) {
      time.communication += p.path_of(p.move_of(a)).seconds;
      continue;
    }
    auto const together = departure::at(p, i);
    for (int k = 0; k < p.path_of(p.move_of(a)).steps.size(); ++k)
      time.communication += transfer_seconds(p, together, k, m);
    i = together.end - 1;
  }
  return time;
}

}  // namespace step
}  // namespace ashlar::search
