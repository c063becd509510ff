// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the cheapest redistributions between one fixed placement of a matrix and every placement
// that a local product may need. The fixed placement is the given placement of an operand or the
// wanted placement of the result. One search finds all these redistributions:
//
//   from_end   Paths start at the fixed placement: one Dijkstra search along the edges.
//   to_end     Paths end at the fixed placement: one Dijkstra search against the direction of
//              the edges.
//
// In the placements of a local product, P always stands for a sum. If the fixed placement has P
// with another reduction, such as a maximum, a second graph is used in which P stands for that
// reduction. Placements without P are in both graphs. The search covers both graphs and changes
// from one to the other at the cheapest of these shared placements.

#include <ashlar/plan/placement_graph.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

enum class path_direction { from_end, to_end };

class matmul_paths {
 public:
  /// `end` is the fixed placement at one end of all paths. `sums` is the placement graph for the
  /// tensor's number of dims in which P stands for a sum. Expects an `end` that `check` accepts and
  /// that is owned on no axis.
  constexpr matmul_paths(placement_graph const& sums, shape const& extents, int element_size,
                         placement const& end, path_direction direction, machine const& m)
      : sums_(sums), machine_(m), extents_(extents), element_size_(element_size), end_(end),
        backward_(direction == path_direction::to_end),
        ways_(find_ways(sums.price(extents, element_size, m))) {}

  /// Returns the seconds of the path between the fixed placement and state (placement) number `i`
  /// of the graph. The seconds include tie_break for each step, so that of two paths of equal cost
  /// the one with fewer steps wins.
  constexpr double weight(int i) const { return ways_.weight[static_cast<std::size_t>(i)]; }

  /// Returns the redistribution plan between the fixed placement and state (placement) number `i`.
  /// If the constructor got path_direction::to_end, the plan ends at the fixed placement. Otherwise
  /// the plan starts there.
  constexpr redistribution_plan plan(int i) const {
    inplace_vector<redistribution_step, 4 * max_axes> met;  // steps from state i to end_
    int at = collect(met, sums_, ways_, i);
    if (!own_.empty()) collect(met, own_.front(), own_ways_, own_.front().find(sums_.state(at)));
    placement const& local = sums_.state(i);
    redistribution_plan plan{
        extents_, element_size_, backward_ ? local : end_, backward_ ? end_ : local, {}, 0, 0};
    for (int s = 0; s < met.size(); ++s)
      plan.steps.push_back(met[backward_ ? s : met.size() - 1 - s]);
    detail::finish(plan, sums_.mesh(), machine_);
    return plan;
  }

 private:
  /// Returns the number of the state of `graph` that is the fixed placement.
  constexpr int end_in(placement_graph const& graph) const {
    int const end = graph.find(end_);
    if (end < 0)
      throw std::invalid_argument(
          "matmul_paths: the placement graph does not contain the given placement");
    return end;
  }

  constexpr placement_graph::paths find_ways(scratch<double> const& cost) {
    auto ways = sums_.no_paths();
    if (end_.op() == reduction::sum) {
      ways.weight[static_cast<std::size_t>(end_in(sums_))] = 0;
    } else {
      own_.push_back(placement_graph(extents_.rank(), sums_.mesh(), end_.op()));
      placement_graph const& own = own_.front();
      int const end = end_in(own);
      auto const own_cost = own.price(extents_, element_size_, machine_);
      own_ways_ = backward_ ? own.shortest_to(end, own_cost) : own.shortest_from(end, own_cost);
      for (int i = 0; i < own.states(); ++i)
        if (!own.state(i).has_partial())
          ways.weight[static_cast<std::size_t>(sums_.find(own.state(i)))] =
              own_ways_.weight[static_cast<std::size_t>(i)];
    }
    sums_.settle(ways, cost, backward_);
    return ways;
  }

  /// Appends the steps of the path in `graph` from state (placement) number `i` towards the fixed
  /// placement. If the path goes on in the second graph, stops at a placement that both graphs
  /// have. Returns the number of the state at which it stopped.
  constexpr int collect(inplace_vector<redistribution_step, 4 * max_axes>& met,
                        placement_graph const& graph, placement_graph::paths const& ways,
                        int i) const {
    for (int e = 0; (e = ways.last_edge[static_cast<std::size_t>(i)]) >= 0;) {
      met.push_back(graph.step_of(e));
      auto const& edge = graph.edges()[static_cast<std::size_t>(e)];
      i = backward_ ? edge.to : edge.from;
    }
    return i;
  }

  placement_graph const& sums_;
  machine const& machine_;
  shape extents_;
  int element_size_;
  placement end_;
  bool backward_;
  std::vector<placement_graph> own_;  // the second graph; empty if it is not needed
  placement_graph::paths own_ways_;
  placement_graph::paths ways_;
};

}  // namespace ashlar
