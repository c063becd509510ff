// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Of the placements that suit an operation, the one that a tensor reaches most cheaply: what an
// error tells to redistribute to.
//
//   cheapest first, by the plans of redistribution.hpp     then the fewest axes that change
//   no axis becomes partial: that is free, but makes each rank hold and later move all of it

#include <optional>

#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

/// The nearest placement to `from` that `suits`, a predicate on placements; none if none does.
template <class Suits>
constexpr std::optional<placement> nearest_placement(shape const& extents, int element_size,
                                                     placement const& from, topology const& t,
                                                     machine const& m, Suits suits) {
  placement_graph const graph(extents.rank(), t, from.op(),
                              detail::dims_to_consider(extents, from, from));
  auto const paths = graph.shortest_from(graph.find(from), graph.price(extents, element_size, m));
  std::optional<placement> best;
  double best_weight = 0;
  int best_changes = 0;
  for (int i = 0; i < graph.states(); ++i) {
    placement const& p = graph.state(i);
    double const weight = paths.weight[static_cast<std::size_t>(i)];
    if (best && weight > best_weight) continue;
    int changes = 0;
    bool partial_added = false;
    for (int a = 0; a < p.axes(); ++a) {
      changes += p[a] == from[a] ? 0 : 1;
      partial_added = partial_added || (p[a].is_partial() && !from[a].is_partial());
    }
    if (partial_added || (best && weight == best_weight && changes >= best_changes)) continue;
    if (!suits(p)) continue;
    best = p;
    best_weight = weight;
    best_changes = changes;
  }
  return best;
}

}  // namespace ashlar
