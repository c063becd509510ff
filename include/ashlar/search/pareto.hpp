// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the Pareto front of time and memory: plans from the fastest one down to the one of least
// memory.
//
//   auto const front = search::memory_front(problem, topology, machine);
//   std::cout << front;                                   // a table and a plot
//
// The front is computed for several memory limits. The limits form a geometric sequence from the
// memory of the fastest plan to the least memory for which a plan is found. For each limit, the
// search of within_memory.hpp finds the fastest plan. The gap of this plan bounds the fraction of
// its time that another plan can save. A limit is skipped if the plan of the previous limit fits in
// it. machine.memory does not limit the plans, but the table marks plans that exceed it.

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <vector>

#include <ashlar/search/optimal.hpp>
#include <ashlar/search/optimal_plan.hpp>
#include <ashlar/search/text.hpp>

namespace ashlar::search {

struct front_options {
  int limits = 12;  ///< number of memory limits, including the highest and the lowest
  /// Says which choices are permitted, like the filter of optimal().
  std::function<bool(int, layer_choice const&)> permits{};
  /// Called after every limit except the first, with the number of finished limits and the number
  /// of all limits.
  std::function<void(int done, int of)> on_progress{};
};

/// Plans in order of decreasing memory and increasing time. No plan is both slower and larger than
/// another one.
template <int N = dynamic_size>
struct basic_memory_front {
  std::vector<basic_plan<N>> plans;
  std::int64_t memory = 0;  ///< bytes per rank that the machine has, or 0 if unknown
};

/// Returns the Pareto front of time and memory: the fastest plan within each of several memory
/// limits. Throws the errors of `optimal`, and ashlar::error if the options ask for fewer than two
/// limits, if the storage of a tied parameter is not prescribed, or if the mesh has more than four
/// axes.
template <int N>
basic_memory_front<N> memory_front(basic_problem<N> const& net, topology const& t, machine const& m,
                                   front_options const& o = {}) {
  if (o.limits < 2) throw error("search::memory_front", "a front needs 2 limits or more.");
  if (!detail::has_settled_ties(net))
    throw error("search::memory_front",
                "a front does not choose where a tied parameter is stored. Prescribe it with "
                "search::with_storage, or call search::optimal for each memory limit.");
  if (!is_exact_on(t))
    throw error("search::memory_front",
                "a front supports " + detail::at_most_exact_axes() + ". Merge axes of one tier.");
  machine unlimited = m;
  unlimited.memory = 0;
  basic_memory_front<N> front{
      {o.permits ? optimal(net, t, unlimited, o.permits) : optimal(net, t, unlimited)}, m.memory};
  detail::no_watch alone;
  using limited = detail::recomputation_search<N, detail::no_watch>;
  auto search = o.permits ? limited(net, t, m, o.permits, alone)  // All limits share one model.
                          : limited(net, t, m, any_choice{}, alone);
  int again = 0;
  double const least = double(search.least(again).bytes), most = double(front.plans[0].memory);
  for (int k = 1; k < o.limits; ++k) {
    auto const limit = static_cast<std::int64_t>(
        k + 1 == o.limits ? least : most * std::pow(least / most, double(k) / (o.limits - 1)));
    if (limit < front.plans.back().memory) front.plans.push_back(search.run(limit));
    if (o.on_progress) o.on_progress(k + 1, o.limits);
  }
  // Drop plans that are no faster than a later plan of less memory. Such plans occur if the search
  // does not reach the optimum of their memory limit.
  double fastest = front.plans.back().seconds;
  std::vector<basic_plan<N>> kept{front.plans.back()};
  for (auto p = front.plans.rbegin() + 1; p != front.plans.rend(); ++p)
    if (p->seconds < fastest) {
      fastest = p->seconds;
      kept.push_back(*p);
    }
  front.plans.assign(kept.rbegin(), kept.rend());
  return front;
}

namespace detail {

/// Plots the plans as text, with seconds upwards and memory to the right.
template <int N>
void plot_front(std::ostream& out, basic_memory_front<N> const& front) {
  constexpr int width = 70, height = 14;
  auto const &fast = front.plans.front(), &lean = front.plans.back();
  double const low = fast.seconds, high = lean.seconds > low ? lean.seconds : low * 1.01;
  double const left = double(lean.memory), across = double(fast.memory) - left;
  std::vector<std::string> rows(height, std::string(width, ' '));
  for (auto const& p : front.plans) {
    double const right_part = across > 0 ? (double(p.memory) - left) / across : 0;
    auto const x = static_cast<std::size_t>(std::lround(right_part * (width - 1)));
    auto const y = static_cast<std::size_t>(
        std::lround((high - p.seconds) / (high - low) * (height - 1)));
    rows[std::min<std::size_t>(y, height - 1)][x] = '*';
  }
  for (int r = 0; r < height; ++r)
    out << right(r == 0            ? seconds_text(high)
                 : r + 1 == height ? seconds_text(low)
                                   : "",
                 12)
        << " |"
        << rows[static_cast<std::size_t>(r)].substr(
               0, rows[static_cast<std::size_t>(r)].find_last_not_of(' ') + 1)
        << '\n';
  out << std::string(13, ' ') << '+' << std::string(width, '-') << '\n'
      << std::string(14, ' ') << bytes_text(left)
      << right(bytes_text(double(fast.memory)), width - bytes_text(left).size()) << '\n';
}

}  // namespace detail

/// Prints a table, the fastest plan first, and a plot of time and memory.
template <int N>
std::ostream& operator<<(std::ostream& out, basic_memory_front<N> const& front) {
  using detail::right;
  auto const& fast = front.plans.front();
  out << "time and memory: " << front.plans.size()
      << (front.plans.size() == 1 ? " plan, the fastest and the smallest"
                                  : " plans; each is faster or smaller than every other one")
      << '\n'
      << right("memory per rank", 18) << right("a step", 12) << right("slower by", 12)
      << right("certified", 22) << '\n';
  for (auto const& p : front.plans) {
    out << right(bytes_text(double(p.memory)), 18) << right(seconds_text(p.seconds), 12)
        << right(&p == &fast ? "-" : detail::percent_text(p.seconds / fast.seconds - 1), 12)
        << right(p.gap > 0 ? "within " + detail::gap_text(p.gap) : "optimal", 22);
    if (front.memory > 0 && p.memory > front.memory) out << "  more than the machine has";
    out << '\n';
  }
  if (front.plans.size() > 1) {
    out << '\n';
    detail::plot_front(out, front);
  }
  return out;
}

}  // namespace ashlar::search
