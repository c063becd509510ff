// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Changes a placement on some mesh axes and keeps it on the others. If several axes split a dim of
// the result, the three rules below determine their order (the shard order of the dim). In these
// rules, a "staying" axis splits the dim already and is not changed, and a "new" axis is one that a
// change makes split the dim.
//
//   staying axes                 keep their order among each other
//   a new axis without a depth   comes before the first staying axis that is later in the mesh, so
//                                that a canonical placement stays canonical
//   a new axis with a depth      gets this depth
//
// `changed` does not check the result. `check` (placement.hpp) says whether the result is valid.

#include <ashlar/placement/placement.hpp>

namespace ashlar {

/// A new placement for one axis. `axis` is the index of the axis in the mesh.
struct axis_change {
  int axis = 0;
  axis_placement to;
};

using axis_changes = inplace_vector<axis_change, max_axes>;

/// Returns `from` with the given changes. Expects that `from` is valid and that each axis is
/// changed at most once.
constexpr placement changed(placement const& from, axis_changes const& changes) {
  placement result = from;
  for (auto const& change : changes) result.axis[change.axis] = broadcast();
  for (int dim = 0; dim < max_rank; ++dim) {
    axis_list order;
    for (auto const axis : from.axes_of(dim))
      if (result.axis[axis].is_split_of(dim)) order.push_back(axis);
    auto const insert = [&](int at, int axis) {
      order.push_back(static_cast<signed char>(axis));
      for (int i = order.size() - 1; i > at; --i) {
        auto const moved = order[i];
        order[i] = order[i - 1];
        order[i - 1] = moved;
      }
    };
    // First insert the axes without a depth, in the order of the mesh axes. Then insert the axes
    // with a depth, in the order of their depths.
    for (int axis = 0; axis < from.axes(); ++axis)
      for (auto const& change : changes) {
        if (change.axis != axis || !change.to.is_split_of(dim) || change.to.depth >= 0) continue;
        int at = 0;
        while (at < order.size() && order[at] < axis) ++at;
        insert(at, axis);
      }
    for (int depth = 0; depth < max_axes; ++depth)
      for (auto const& change : changes)
        if (change.to.is_split_of(dim) && change.to.depth == depth)
          insert(depth < order.size() ? depth : order.size(), change.axis);
    for (int i = 0; i < order.size(); ++i) result.axis[order[i]] = split(dim, i);
  }
  // A depth that leaves a gap or is given twice stays as it was given, so that `check` refuses it.
  for (auto const& change : changes)
    if (!change.to.is_split() || change.to.dim >= max_rank || change.to.depth >= 0)
      result.axis[change.axis] = change.to;
  return result;
}

}  // namespace ashlar
