// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Times redistributions on a simulated cluster beside the seconds of their plans.
//
//   cluster                       simulated / planned seconds
//   one node (flat crossbar)      1 within 3 %
//   several nodes                 1 within 15 %
//   uneven shards                 may be less: plans charge every rank with the largest shard
//
// Simulated time is the same in every run and on every computer, so a bound on it is no flaky test.

#include <algorithm>
#include <array>

#include <smpi/simulated.hpp>

namespace ashlar_test {

struct move {
  ashlar::placement from, to;
};

struct timed_move {
  ashlar::redistribution_plan plan;
  double seconds;  ///< of the slowest rank; known to rank 0
};

inline std::string text_of(ashlar::redistribution_plan const& plan, ashlar::topology const& t) {
  std::string text = to_string(plan.from) + " -> " + to_string(plan.to) + ":";
  for (auto const& s : plan.steps)
    text += std::string(" ") + to_string(s.kind) + " " + to_string(s.axes, t) + ",";
  text.pop_back();
  return text;
}

/// Runs and times the moves that communicate. Values are checked where that needs no messages.
inline std::vector<timed_move> time_moves(ashlar::mesh const& m, ashlar::shape const& extents,
                                          std::vector<move> const& moves, verdict& all) {
  std::vector<timed_move> timed;
  std::vector<double> mine;
  for (auto const& [from, to] : moves) {
    auto const plan = m.plan(extents, sizeof(float), from, to);
    if (plan.is_local()) continue;
    auto const x = numbered(m, extents, from);
    auto y = redistribute(x, to);  // what only the first time costs: groups of ranks, memory
    mine.push_back(simulated_seconds([&] { y = redistribute(x, to); }));
    timed.push_back({plan, 0});
    if (!to.has_partial()) all.check(is_numbered(y), "values of " + text_of(plan, m.topology()));
  }
  std::vector<double> slowest(mine.size());
  MPI_Reduce(mine.data(), slowest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  for (std::size_t i = 0; i < timed.size(); ++i) timed[i].seconds = slowest[i];
  return timed;
}

/// Prints the moves and holds their times against the plans. On rank 0.
inline void check_times(std::vector<timed_move> const& timed, ashlar::mesh const& m, verdict& all) {
  if (m.rank() != 0 || timed.empty()) return;
  auto const& t = m.topology();
  double const tolerance = t.ranks_per_node() == t.ranks() ? 0.03 : 0.15;
  double least = 1e300, most = 0;
  for (auto const& [plan, seconds] : timed) {
    bool even = true;
    for (auto const n : plan.extents.extent) even = even && n % t.ranks() == 0;
    double const ratio = seconds / plan.seconds;
    std::printf("%10.3f us  %10.3f us  %.3f  %s\n", seconds * 1e6, plan.seconds * 1e6, ratio,
                text_of(plan, t).c_str());
    all.check(ratio <= 1 + tolerance, "simulated time exceeds that of " + text_of(plan, t));
    all.check(ratio >= (even ? 1 : 0.85) - tolerance, "too dear a plan: " + text_of(plan, t));
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  std::printf("%zu moves, simulated / planned seconds from %.3f to %.3f\n", timed.size(), least,
              most);
}

}  // namespace ashlar_test
