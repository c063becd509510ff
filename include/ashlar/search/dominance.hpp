// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which choices of a layer can be needed at all. By the triangle inequality of shortest paths choice
// j may always be replaced by i at no loss if
//
//   cost(i) + ways from j's boundaries to i's and back  <=  cost(j)      (and the same for memory)
//
// of which "equal boundaries, cheaper inside" is the simplest case. A residual's choice counts at
// both of its ends, so the ways count twice. Among equals the first stays.

#include <algorithm>
#include <vector>

#include <ashlar/search/choice_class.hpp>

namespace ashlar::search {

/// Per choice of a class whether it is not dropped. `c` has its numbers, of all choices; of its
/// choices themselves nothing is asked.
template <int N, tabulated_move_prices Paths>
constexpr scratch<char> undominated(choice_class const& c, Paths& paths,
                                    basic_problem<N> const& net) {
  int const x_table = paths.table(c.x_extents, net.element_size),
            y_table = paths.table(c.y_extents, net.element_size);
  std::size_t const size = c.weight.size();
  int const n = static_cast<int>(size);
  scratch<char> alive_list(size);
  char* const alive = alive_list.data();
  scratch<double const*> from_y(size), from_dx(size);
  double const** const py = from_y.data();
  double const** const pdx = from_dx.data();
  for (int j = 0; j < n; ++j)
    alive[j] = 1, py[j] = paths.weight_from(y_table, c.y.data()[j]),
    pdx[j] = paths.weight_from(x_table, c.dx.data()[j]);
  double const* const w = c.weight.data();
  element_memory const* const b = c.memory.data();
  int const *const sx = c.x.data(), *const sdx = c.dx.data(), *const sy = c.y.data(),
                   *const sdy = c.dy.data();
  // Each way counts as often as the one that is gone most often, on either side of the element: that
  // drops less.
  boundary_times const crossed = times_between(
      net, c.runs == forward_runs::once ? forward_runs::once : forward_runs::twice);
  double const times = (c.end >= 0 ? 2 : 1) * std::max(crossed.activation, crossed.gradient);
  if constexpr (Paths::orders != shard_orders::all) {
    // Many choices: the cheapest come first, and are all that can drop those after them.
    scratch<int> sorted(size);
    std::vector<int> kept;
    for (int j = 0; j < n; ++j) sorted.data()[j] = j;
    std::sort(sorted.begin(), sorted.end(),
              [w](int i, int j) { return w[i] != w[j] ? w[i] < w[j] : i < j; });
    for (int const j : sorted) {
      double const* const px = paths.weight_from(x_table, sx[j]);
      double const* const pdy = paths.weight_from(y_table, sdy[j]);
      double const spare = w[j] / times;
      for (int const i : kept) {
        double const of_i = spare - w[i] / times - px[sx[i]];
        if (of_i < 0 || b[i].kept > b[j].kept || b[i].gathered > b[j].gathered) continue;
        if (of_i - pdy[sdy[i]] < 0) continue;
        alive[j] = w[i] + times * (px[sx[i]] + py[i][sy[j]] + pdy[sdy[i]] + pdx[i][sdx[j]]) > w[j];
        if (!alive[j]) break;
      }
      if (alive[j]) kept.push_back(j);
    }
    return alive_list;
  }
  auto const replaces = [](double with, double without, bool at_par) {
    return at_par ? with <= without : with < without;
  };
  for (int j = 0; j < n; ++j) {
    double const* const px = paths.weight_from(x_table, sx[j]);
    double const* const pdy = paths.weight_from(y_table, sdy[j]);
    for (int i = 0; i < n && alive[j]; ++i)  // one expression: clang counts statements
      alive[j] = !(
          i != j && alive[i] && w[i] <= w[j] && b[i].kept <= b[j].kept &&
          b[i].gathered <= b[j].gathered &&
          replaces(w[i] + times * (px[sx[i]] + py[i][sy[j]] + pdy[sdy[i]] + pdx[i][sdx[j]]), w[j],
                   i < j || b[i].kept < b[j].kept || b[i].gathered < b[j].gathered));
  }
  return alive_list;
}

}  // namespace ashlar::search
