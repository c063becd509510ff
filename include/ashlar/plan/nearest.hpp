// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the nearest placement that suits an operation: the one to which a tensor can be
// redistributed at least cost. Error messages suggest this placement to the user. The order of
// preference is:
//
//   1. the least seconds of the redistribution; among equals, the fewest steps
//   2. among equals, the fewest axes that change
//   3. among equals, the first in lexicographic order of the axes, with B < P < S(0) < S(1) < ...
//
// No axis may become partial. A step from broadcast to partial costs nothing, but it saves no
// memory: each rank would still hold all data along that axis, and would have to reduce it later.

#include <optional>

#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

/// Returns the nearest placement to `from` for which the predicate `suits` is true, or nothing if
/// there is none.
template <class Suits>
constexpr std::optional<placement> nearest_placement(shape const& extents, int element_size,
                                                     placement const& from, topology const& t,
                                                     machine const& m, Suits suits) {
  step_prices const price(extents, element_size, t, m);
  path_search paths(t, extents.rank(), from.op(), from.op(), price);
  std::optional<placement> best;
  double best_weight = 0;
  int best_changes = 0;
  paths.run(
      from, [](placement const&, axis_roles const&) { return 0.0; },
      [&](int i) {
        placement const& p = paths.state(i);
        if (best && paths.weight(i) > best_weight) return true;
        int changes = 0;
        bool partial_added = false;
        for (int a = 0; a < p.axes(); ++a) {
          changes += p[a] == from[a] ? 0 : 1;
          partial_added = partial_added || (p[a].is_partial() && !from[a].is_partial());
        }
        bool const simpler = !best || changes < best_changes ||
                             (changes == best_changes && code_of(p) < code_of(*best));
        if (partial_added || !simpler || !suits(p)) return false;
        best = p;
        best_weight = paths.weight(i);
        best_changes = changes;
        return false;
      });
  return best;
}

}  // namespace ashlar
