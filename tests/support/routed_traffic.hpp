// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes that rows of experts need, counted row by row from the routes and independently of the
// library's own counts.

#include <support/naive_placement.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/layout/routing.hpp>

namespace ashlar_test {

/// Returns the number of elements of the rows in box b, counted row by row.
inline std::int64_t rows_times_features(ashlar::shape const& extents, ashlar::routing const& routes,
                                        ashlar::box const& b) {
  std::int64_t elements = 0, token = 0;
  int const dims = extents.rank() - 2;
  index all;
  for (int d = 0; d < dims; ++d) all.push_back(static_cast<int>(extents[d]));
  for_each_index(all, [&](index const& at) {
    bool inside = true;
    for (int d = 0; d < dims; ++d)
      inside = inside && at[static_cast<std::size_t>(d)] >= b[d].begin &&
               at[static_cast<std::size_t>(d)] < b[d].end();
    for (int k = 0; inside && k < routes.chosen; ++k) {
      auto const e = routes.experts_of(token)[k];
      if (e >= b[dims].begin && e < b[dims].end()) elements += b[dims + 1].size;
    }
    ++token;
  });
  return elements;
}

/// Returns the collectives of a plan with the bytes that this rank receives for these routes,
/// counted from the boxes before and after each step.
inline exchanges counted(ashlar::mesh const& m, ashlar::redistribution_plan const& plan,
                         ashlar::routing const& routes) {
  exchanges all;
  auto const& t = m.topology();
  auto const here = m.coordinate();
  for (auto const& s : plan.steps) {
    if (!communicates(s.kind)) continue;
    auto const rows = [&](ashlar::box const& b) {
      return rows_times_features(plan.extents, routes, b);
    };
    auto const before = local_box(plan.extents, t, s.from, here);
    auto const after = local_box(plan.extents, t, s.to, here);
    auto const old = rows(before), made = rows(after);
    int const p = t.group_size(s.axes);
    std::int64_t received = made - rows(intersect(before, after));
    if (s.kind == ashlar::collective::reduce_scatter) received = (p - 1) * made;
    if (s.kind == ashlar::collective::all_reduce) {
      auto const own = ashlar::balanced_part({0, old}, p, t.index_in_group(here, s.axes)).size;
      received = (p - 1) * own + old - own;
    }
    if (s.kind == ashlar::collective::permute && is_pairwise(s, t))
      received = permute_partner(s, here) == here ? 0 : made;
    all.push_back({s.kind, s.axes, received * plan.element_size});
  }
  return all;
}

}  // namespace ashlar_test
