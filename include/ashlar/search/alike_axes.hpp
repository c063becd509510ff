// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Axes that may stand for one another: those of one extent in one tier. No price, size or memory
// changes if they exchange their roles in all tensors (machine/link.hpp asks only for both).

#include <ashlar/mesh/topology.hpp>

namespace ashlar::search {

constexpr bool are_alike(topology const& t, int a, int b) {
  return t.extent(a) == t.extent(b) && t.axis[a].tier == t.axis[b].tier;
}

/// The last axis before `a` that is alike; -1: there is none.
constexpr int alike_before(topology const& t, int a) {
  int before = a - 1;
  while (before >= 0 && !are_alike(t, before, a)) --before;
  return before;
}

/// Whether two axes of more than one rank are alike.
constexpr bool has_alike_axes(topology const& t) {
  for (int a = 0; a < t.axes(); ++a)
    if (t.extent(a) > 1 && alike_before(t, a) >= 0) return true;
  return false;
}

}  // namespace ashlar::search
