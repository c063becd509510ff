// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Interchangeable axes of a mesh: those of one extent in one tier. No price, size or memory changes if
// two of them exchange their roles in all tensors (machine/link.hpp asks only for extent and tier).

#include <ashlar/mesh/topology.hpp>
#include <ashlar/placement/placement.hpp>

namespace ashlar::search {

constexpr bool are_alike(topology const& t, int a, int b) {
  return t.extent(a) == t.extent(b) && t.axis[a].tier == t.axis[b].tier;
}

/// The last axis before `a` that is interchangeable with it; -1: there is none.
constexpr int alike_before(topology const& t, int a) {
  int before = a - 1;
  while (before >= 0 && !are_alike(t, before, a)) --before;
  return before;
}

/// Whether two axes of more than one rank are interchangeable.
constexpr bool has_alike_axes(topology const& t) {
  for (int a = 0; a < t.axes(); ++a)
    if (t.extent(a) > 1 && alike_before(t, a) >= 0) return true;
  return false;
}

/// Exchanges interchangeable axes in both placements, so that their roles in `from` ascend along them, and
/// those in `to` where they are equal in `from`: moves that cost the same become one.
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
    for (int b = a, c = alike_before(t, a); c >= 0 && before(b, c); b = c, c = alike_before(t, c)) {
      exchange(from, b, c);
      exchange(to, b, c);
    }
}

}  // namespace ashlar::search
