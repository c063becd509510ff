// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches by coordinate descent with restarts, the algorithm of AutoDDL, section 4.4:
//
//   step      Each layer in turn gets the choice of least total cost, while the choices of all
//             other layers stay fixed. If no choice is cheaper, the layer keeps its current choice.
//   restart   After a round over all layers without a change, the search restarts from another
//             random plan.
//   memory    Choices that would exceed the memory limit are excluded.
//
// One evaluation is the pricing of one choice of one layer.

#include <ashlar/search/explorer.hpp>

namespace ashlar::search {
namespace detail {

/// Changes variable v (a layer or residual block) to its best choice, while all other variables
/// stay fixed. Returns whether the choice of v changed. If the budget runs out during the call,
/// some choices of v are not tried.
template <int N>
bool descend(explorer<N>& e, int v) {
  int const old = e.now.choice(v);
  double const here = e.now.around(v, old);
  // Gains below 1e-13 of the plan's weight are rounding errors. Accepting them could lead to an
  // endless cycle.
  double least = here - 1e-13 * e.now.weight();
  int best = old;
  for (int k = 0; k < e.now.choices(v); ++k) {
    if (k == old) continue;
    if (!e.run.go_on()) break;
    if (!e.now.fits_with(v, k)) continue;
    double const then = e.now.around(v, k);
    if (then < least) least = then, best = k;
  }
  e.now.choose(v, best);
  return best != old;
}

}  // namespace detail

/// Returns the best local optimum found within the budget. Throws ashlar::error if no plan fits the
/// machine's memory, if the options contain no budget and no stop token, if the net has branches or
/// a tied parameter without prescribed storage, or if the mesh has more than four axes.
template <int N>
basic_result<N> coordinate_descent(basic_problem<N> const& net, topology const& t, machine const& m,
                                   options const& o) {
  return detail::explore("coordinate_descent", net, t, m, o, [](auto& e) {
    while (e.run.go_on()) {
      e.start();
      e.keep();
      for (bool changed = true; changed && !e.run.over();) {
        changed = false;
        for (int const v : e.movable) {
          if (detail::descend(e, v)) {
            changed = true;
            e.keep();
          }
          if (e.run.over()) break;
        }
      }
    }
  });
}

}  // namespace ashlar::search
