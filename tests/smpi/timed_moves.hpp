// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures redistributions on a simulated cluster and compares the simulated seconds with the
// seconds of their plans. SMPI adds an envelope of 16 bytes to each message, so the time of these
// bytes is added to the planned seconds.
//
//   cluster                    |simulated / planned - 1|
//   one node (flat crossbar)   <= 3 %
//   several nodes              <= 15 %
//
// For some redistributions the planned seconds are an upper bound. Their simulated time may be
// shorter by any amount, but longer only within the same tolerance:
//
//   uneven shards            The plan charges every rank with the largest shard.
//   permutations that are    The plan charges a rank with a message from every other rank. But most
//   not pairwise             of the other ranks send that rank nothing.
//
// Simulated time is the same in every run and on every computer, so bounds on it do not make tests
// flaky.

#include <algorithm>
#include <array>

#include <smpi/message_costs.hpp>
#include <smpi/simulated.hpp>

namespace ashlar_test {

struct move {
  ashlar::placement from, to;
};

struct timed_move {
  ashlar::redistribution_plan plan;
  double seconds;  ///< the simulated seconds of the slowest rank; valid on rank 0 only
};

inline std::string text_of(ashlar::redistribution_plan const& plan, ashlar::topology const& t) {
  std::string text = to_string(plan.from) + " -> " + to_string(plan.to) + ":";
  for (auto const& s : plan.steps)
    text += std::string(" ") + to_string(s.kind) + " " + to_string(s.axes, t) + ",";
  text.pop_back();
  return text;
}

/// Runs and times the plans that communicate. Checks the values of results that are not partial,
/// since this check needs no messages.
inline std::vector<timed_move> time_plans(ashlar::mesh const& m,
                                          std::vector<ashlar::redistribution_plan> const& plans,
                                          verdict& all) {
  charge_each_message(m.machine());
  std::vector<timed_move> timed;
  std::vector<double> mine;
  for (auto const& plan : plans) {
    if (plan.is_local()) continue;
    auto const x = numbered(m, plan.extents, plan.from);
    auto const prepared = ashlar::prepare(plan, m.topology(), m.coordinate(), m.sum_order());
    // The first run creates groups of ranks and allocates memory, so it is not measured.
    auto y = ashlar::detail::run_plan(x, prepared);
    mine.push_back(simulated_seconds([&] { y = ashlar::detail::run_plan(x, prepared); }));
    timed.push_back({plan, 0});
    if (!plan.to.has_partial())
      all.check(is_numbered(y), "values of " + text_of(plan, m.topology()));
  }
  std::vector<double> slowest(mine.size());
  MPI_Reduce(mine.data(), slowest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  for (std::size_t i = 0; i < timed.size(); ++i) timed[i].seconds = slowest[i];
  return timed;
}

/// Calls time_plans() with the plans that redistribute() would run for these moves.
inline std::vector<timed_move> time_moves(ashlar::mesh const& m, ashlar::shape const& extents,
                                          std::vector<move> const& moves, verdict& all) {
  std::vector<ashlar::redistribution_plan> plans;
  for (auto const& [from, to] : moves) plans.push_back(m.plan(extents, sizeof(float), from, to));
  return time_plans(m, plans, all);
}

/// The number of bytes that SMPI adds to each message.
inline constexpr double envelope = 16;

/// Returns the predicted seconds of a plan, including the time of the 16 bytes that SMPI adds to
/// each message.
inline double planned_seconds(ashlar::redistribution_plan const& plan, ashlar::topology const& t,
                              ashlar::machine const& m) {
  double sum = 0;
  for (auto const& s : plan.steps) {
    if (!communicates(s.kind)) continue;
    auto const load = priced_traffic(s, t, shards_of(plan.extents, t, s.from),
                                     shards_of(plan.extents, t, s.to));
    sum += seconds(m, t, s.axes, s.kind, load, plan.element_size) +
           group_link(m, t, s.axes, s.kind).beta * envelope * static_cast<double>(load.messages);
  }
  return sum;
}

/// Returns whether the predicted seconds are exact: the plan charges each rank with exactly the
/// bytes and messages that the rank receives. If the result is false, the predicted seconds are an
/// upper bound.
inline bool is_exact(ashlar::redistribution_plan const& plan, ashlar::topology const& t) {
  for (auto const n : plan.extents.extent)
    if (n % t.ranks() != 0) return false;
  for (auto const& s : plan.steps)
    if (s.kind == ashlar::collective::permute && !is_pairwise(s, t)) return false;
  return true;
}

/// Compares the simulated seconds of redistributions with the seconds of their plans, and prints
/// both. Only rank 0 compares and prints.
inline void check_times(std::vector<timed_move> const& timed, ashlar::mesh const& m, verdict& all) {
  if (m.rank() != 0 || timed.empty()) return;
  auto const& t = m.topology();
  double const tolerance = t.ranks_per_node() == t.ranks() ? 0.03 : 0.15;
  double least = 1e300, most = 0;
  int exact = 0;
  std::printf("simulated us  planned us  ratio\n");
  for (auto const& [plan, seconds] : timed) {
    double const planned = planned_seconds(plan, t, m.machine()), ratio = seconds / planned;
    bool const both_ways = is_exact(plan, t);
    std::printf("%12.3f %11.3f  %.3f %s %s\n", seconds * 1e6, planned * 1e6, ratio,
                both_ways ? " " : "<", text_of(plan, t).c_str());
    all.check(ratio <= 1 + tolerance, "slower than planned: " + text_of(plan, t));
    if (both_ways) all.check(ratio >= 1 - tolerance, "faster than planned: " + text_of(plan, t));
    most = std::max(most, ratio);
    if (both_ways) ++exact, least = std::min(least, ratio);
  }
  std::printf("%zu moves, simulated / planned at most %.3f; of %d with exact plans at least %.3f\n",
              timed.size(), most, exact, least);
}

}  // namespace ashlar_test
