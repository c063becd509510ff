// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a redistribution: the cheapest sequence of steps from one placement to another, as
// data. The plan that is priced is the plan that runs.
//
//   plan_redistribution(extents, element_size, from, to, topology, machine)
//
// Where both ends are partial with different reductions (sums and maxima do not share a path), the
// plan goes through the best placement that is not partial. On five axes and more, intermediate
// placements of tensors of three dims and more split only the dims that either end splits and the
// first one, which keeps the graph small.

#include <ashlar/plan/placement_graph.hpp>

namespace ashlar {

struct redistribution_plan {
  shape extents;
  int element_size = 0;
  placement from;
  placement to;
  inplace_vector<step, 4 * max_axes> steps;
  double seconds = 0;  ///< predicted
  std::int64_t peak_bytes =
      0;  ///< most bytes of shards that a rank holds at once, both ends of a step

  /// Bytes that the rank at `c` receives.
  constexpr std::int64_t received_bytes(topology const& t, coordinates const& c) const {
    std::int64_t elements = 0;
    for (auto const& s : steps) elements += step_traffic(s, extents, t, c).elements;
    return elements * element_size;
  }
  constexpr bool is_local() const {
    for (auto const& s : steps)
      if (communicates(s.kind)) return false;
    return true;
  }
  friend constexpr bool operator==(redistribution_plan const&,
                                   redistribution_plan const&) = default;
};

namespace detail {

/// Adds what derives from the steps: seconds and peak memory.
constexpr void finish(redistribution_plan& plan, topology const& t, machine const& m) {
  plan.seconds = 0;
  plan.peak_bytes = max_local_elements(plan.extents, t, plan.from) * plan.element_size;
  for (auto const& s : plan.steps) {
    plan.seconds += step_seconds(s, plan.extents, plan.element_size, t, m);
    std::int64_t const both = (max_local_elements(plan.extents, t, s.from) +
                               max_local_elements(plan.extents, t, s.to)) *
                              plan.element_size;
    if (both > plan.peak_bytes) plan.peak_bytes = both;
  }
}

/// The steps of the path to `target`, appended to `plan`.
constexpr void append_path(redistribution_plan& plan, placement_graph const& graph,
                           placement_graph::paths const& paths, int target) {
  inplace_vector<int, 4 * max_axes> reversed;
  for (int at = target; paths.last_edge[static_cast<std::size_t>(at)] >= 0;) {
    int const e = paths.last_edge[static_cast<std::size_t>(at)];
    reversed.push_back(e);
    at = graph.edges()[static_cast<std::size_t>(e)].from;
  }
  for (int i = reversed.size() - 1; i >= 0; --i) plan.steps.push_back(graph.step_of(reversed[i]));
}

/// `p` without its partial axes.
constexpr placement reduced(placement p) {
  for (auto& a : p.axis)
    if (a.is_partial()) a = broadcast();
  return p;
}

/// The dims that intermediate placements may split, as a bit set: all of them where that is cheap,
/// else those of either end and the first.
constexpr unsigned dims_to_consider(shape const& extents, placement const& from,
                                    placement const& to) {
  if (from.axes() <= 4 || extents.rank() <= 2) return ~0u;
  unsigned dims = 1u;
  for (placement const* p : {&from, &to})
    for (auto const& a : p->axis)
      if (a.is_split()) dims |= 1u << a.dim;
  return dims;
}

}  // namespace detail

/// The cheapest plan within a graph that has both ends; `cost` from graph.price.
constexpr redistribution_plan plan_in_graph(placement_graph const& graph,
                                            scratch<double> const& cost, shape const& extents,
                                            int element_size, placement const& from,
                                            placement const& to, machine const& m) {
  redistribution_plan plan{extents, element_size, from, to, {}, 0, 0};
  int const source = graph.find(from), target = graph.find(to);
  if (source < 0 || target < 0)
    throw std::invalid_argument("plan_in_graph: the graph does not hold both placements");
  detail::append_path(plan, graph, graph.shortest_from(source, cost, target), target);
  detail::finish(plan, graph.mesh(), m);
  return plan;
}

namespace detail {

/// From a partial placement to one of another reduction: the cheapest way through a placement
/// that is not partial, since sums and maxima share no path.
constexpr redistribution_plan plan_between_reductions(shape const& extents, int element_size,
                                                      placement const& from, placement const& to,
                                                      topology const& t, machine const& m) {
  unsigned const dims = dims_to_consider(extents, from, to);
  placement_graph const first(extents.rank(), t, from.op(), dims);
  placement_graph const second(extents.rank(), t, to.op(), dims);
  auto const first_cost = first.price(extents, element_size, m);
  auto const second_cost = second.price(extents, element_size, m);
  auto const reached = first.shortest_from(first.find(from), first_cost);
  int const target = second.find(to);
  double best = 1e300;
  int middle = 0;
  for (int i = 0; i < first.states(); ++i) {
    double const before = reached.weight[static_cast<std::size_t>(i)];
    if (first.state(i).has_partial() || before >= best) continue;
    auto const rest = second.shortest_from(second.find(first.state(i)), second_cost, target);
    double const total = before + rest.weight[static_cast<std::size_t>(target)];
    if (total < best) {
      best = total;
      middle = i;
    }
  }
  redistribution_plan plan{extents, element_size, from, to, {}, 0, 0};
  append_path(plan, first, reached, middle);
  append_path(plan, second,
              second.shortest_from(second.find(first.state(middle)), second_cost, target), target);
  finish(plan, t, m);
  return plan;
}

}  // namespace detail

/// The cheapest plan from `from` to `to`. Expects placements that `check` accepts.
constexpr redistribution_plan plan_redistribution(shape const& extents, int element_size,
                                                  placement const& from, placement const& to,
                                                  topology const& t, machine const& m) {
  if (from == to) {
    redistribution_plan plan{extents, element_size, from, to, {}, 0, 0};
    detail::finish(plan, t, m);
    return plan;
  }
  reduction const op = from.has_partial() ? from.op() : to.op();
  if (from.has_partial() && to.has_partial() && from.op() != to.op()) {
    return detail::plan_between_reductions(extents, element_size, from, to, t, m);
  }
  placement_graph const graph(extents.rank(), t, op, detail::dims_to_consider(extents, from, to));
  return plan_in_graph(graph, graph.price(extents, element_size, m), extents, element_size, from,
                       to, m);
}

}  // namespace ashlar
