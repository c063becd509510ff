// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The predicted price of a candidate: the seconds of the timeline of its program, whether it fits
// in memory, and the influences of the machine's figures on the seconds (influences.hpp).

#include <cmath>
#include <cstddef>

#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/timeline.hpp>
#include <ashlar/sync/tuning/influences.hpp>
#include <ashlar/sync/tuning/strategy_space.hpp>

namespace ashlar::sync {

/// A candidate's predicted costs on a machine.
struct price {
  double seconds = 0;  ///< seconds of a step
  bool fits = true;    ///< whether the step fits in the memory of the machine
  /// Influences on `seconds`; 0 if they were not asked for, or if the step does not fit.
  influences slopes{};
};

/// Returns the program of a step of a candidate's plan. If problem::overlap is set, communication
/// overlaps with computations in this program.
inline search::program program_of(strategy_space const& space, search::plan const& plan,
                                  search::bucket_rule const& division) {
  if (!space.net().overlap) return search::build(space.net(), plan, space.machine());
  return search::detail::overlapped_program(space.net(), plan, space.machine(), division).made;
}

/// Returns whether the plain steps of a candidate's plan fit in the memory of the machine. Returns
/// true if the plan has no such steps.
inline bool plain_steps_fit(strategy_space const& space, search::plan const& plan,
                            search::bucket_rule const& division) {
  auto const limit = space.machine().memory;
  if (limit == 0 || !search::is_plain_step(plan, 0)) return true;
  return search::high_water(program_of(space, search::without_wires(plan), division)).peak <= limit;
}

/// Returns the price of a step's program on machine `m`. Communicates nothing.
inline price price_of(search::program const& made, machine const& m, bool with_influences) {
  constexpr double step = 1.25;
  price p;
  p.seconds = search::timeline_of(made, m).seconds;
  p.fits = m.memory == 0 || search::high_water(made).peak <= m.memory;
  // Nothing influences a step that takes no time.
  for (int k = 0; k < influences_size && with_influences && p.fits && p.seconds > 0; ++k) {
    double const other =
        search::timeline_of(made, scaled(m, static_cast<influence>(k), step)).seconds;
    p.slopes[static_cast<std::size_t>(k)] = std::log(other / p.seconds) / std::log(step);
  }
  return p;
}

}  // namespace ashlar::sync
