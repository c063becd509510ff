// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Times redistributions on a simulated cluster and holds them between two numbers:
//
//   planned      the seconds of the plan: α for each message, β for each byte
//   overlapped   α once where messages of one exchange travel at the same time: what a network of
//                pure latencies shows of them. All but equal to planned where bytes count.
//
//   cluster                    simulated seconds
//   one node (flat crossbar)   >= overlapped - 3 %, <= planned + 3 %
//   several nodes              >= overlapped - 15 %, <= planned + 15 %
//   uneven shards, or order    up to 15 % less: plans charge every rank with the largest shard and
//   of axes changed            with a message from every other
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

/// Bytes that SMPI adds to each message.
inline constexpr double envelope = 16;

/// Seconds of a plan with envelopes: as planned, and with latencies overlapped. An all-reduce of
/// more than two ranks is two exchanges.
struct expected_seconds {
  double planned = 0, overlapped = 0;

  expected_seconds(ashlar::redistribution_plan const& plan, ashlar::topology const& t,
                   ashlar::machine const& m) {
    for (auto const& s : plan.steps) {
      if (!communicates(s.kind)) continue;
      auto load = priced_traffic(s, t, shards_of(plan.extents, t, s.from),
                                 shards_of(plan.extents, t, s.to));
      double const envelopes = group_link(m, t, s.axes, s.kind).beta * envelope *
                               static_cast<double>(load.messages);
      planned += envelopes + seconds(m, t, s.axes, s.kind, load, plan.element_size);
      bool const twice = s.kind == ashlar::collective::all_reduce && t.group_size(s.axes) > 2;
      load.messages = std::min<std::int64_t>(load.messages, twice ? 2 : 1);
      overlapped += envelopes + seconds(m, t, s.axes, s.kind, load, plan.element_size);
    }
  }
};

/// Prints the moves and holds their times against the plans. On rank 0.
inline void check_times(std::vector<timed_move> const& timed, ashlar::mesh const& m, verdict& all) {
  if (m.rank() != 0 || timed.empty()) return;
  auto const& t = m.topology();
  double const tolerance = t.ranks_per_node() == t.ranks() ? 0.03 : 0.15;
  double least = 1e300, most = 0, most_planned = 0;
  std::printf("simulated us  planned us  simulated / planned, / overlapped\n");
  for (auto const& [plan, seconds] : timed) {
    bool even = true;
    for (auto const n : plan.extents.extent) even = even && n % t.ranks() == 0;
    // A change of the order of axes has few pairs of ranks with anything to send, unlike its price.
    for (auto const& s : plan.steps)
      even = even && (s.kind != ashlar::collective::permute || is_pairwise(s, t));
    expected_seconds const expected(plan, t, m.machine());
    double const planned = seconds / expected.planned;
    double const overlapped = seconds / expected.overlapped;
    std::printf("%12.3f %11.3f  %.3f %.3f  %s\n", seconds * 1e6, expected.planned * 1e6, planned,
                overlapped, text_of(plan, t).c_str());
    all.check(planned <= 1 + tolerance, "simulated time exceeds that of " + text_of(plan, t));
    all.check(overlapped >= (even ? 1 : 0.85) - tolerance, "too dear a plan: " + text_of(plan, t));
    least = std::min(least, overlapped);
    most = std::max(most, overlapped);
    most_planned = std::max(most_planned, planned);
  }
  std::printf("%zu moves, simulated / overlapped from %.3f to %.3f, / planned at most %.3f\n",
              timed.size(), least, most, most_planned);
}

}  // namespace ashlar_test
