// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds interchangeable axes of a mesh: axes of equal extent in the same network tier. If two of
// them exchange their placements in all tensors, no cost, shard size or memory changes. The reason
// is that the link model (machine/link.hpp) depends only on extent and tier.

#include <ashlar/mesh/topology.hpp>
#include <ashlar/placement/placement.hpp>

namespace ashlar::search {

constexpr bool are_interchangeable(topology const& t, int a, int b) {
  return t.extent(a) == t.extent(b) && t.axis[a].tier == t.axis[b].tier;
}

/// Returns the last axis before `a` with the extent and the network tier of `a`, or -1.
constexpr int interchangeable_before(topology const& t, int a) {
  int before = a - 1;
  while (before >= 0 && !are_interchangeable(t, before, a)) --before;
  return before;
}

/// Returns whether the mesh has two axes of equal extent above 1 in the same network tier.
constexpr bool has_interchangeable_axes(topology const& t) {
  for (int a = 0; a < t.axes(); ++a)
    if (t.extent(a) > 1 && interchangeable_before(t, a) >= 0) return true;
  return false;
}

/// Permutes interchangeable axes, in the same way in both placements, into a canonical order. Axes
/// are sorted by their placements in `from`. Axes with equal placements in `from` are sorted by
/// their placements in `to`. Moves that differ only by such a permutation cost the same, and become
/// identical here.
constexpr void sort_interchangeable_axes(topology const& t, placement& from, placement& to) {
  auto const key = [](axis_placement const& p) {
    return ((static_cast<int>(p.kind) * 8 + p.dim) * 8 + p.depth) * 4 + static_cast<int>(p.op);
  };
  auto const before = [&](int a, int b) {
    int const x = key(from[a]), y = key(from[b]);
    return x != y ? x < y : key(to[a]) < key(to[b]);
  };
  auto const exchange = [](placement& p, int a, int b) {
    axis_placement const kept = p.axis[a];
    p.axis[a] = p.axis[b];
    p.axis[b] = kept;
  };
  for (int a = 0; a < t.axes(); ++a)
    for (int b = a, c = interchangeable_before(t, a); c >= 0 && before(b, c);
         b = c, c = interchangeable_before(t, c)) {
      exchange(from, b, c);
      exchange(to, b, c);
    }
}

}  // namespace ashlar::search
