// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Coordinate descent with restarts after AutoDDL, section 4.4, that paper's own algorithm:
//
//   step      for every layer i in turn: S[i] = the choice of least total cost, all others as they
//             are; the present one if none is cheaper
//   restart   when a whole turn changed nothing: from another random plan
//   memory    choices that exceed the limit are excluded
//
// An evaluation is one choice of one layer priced.

#include <ashlar/search/explorer.hpp>

namespace ashlar::search {
namespace detail {

/// The step for variable v; true if it changed. A budget may end it early.
template <int N>
bool descend(explorer<N>& e, int v) {
  int const old = e.now.choice(v);
  double const here = e.now.around(v, old);
  double least = here - 1e-13 * e.now.weight();  // less is rounding, and might go in circles
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

/// The best fixed point that the budget permits. Throws ashlar::error if no plan fits the machine's
/// memory, or if the options would let it run for ever.
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
