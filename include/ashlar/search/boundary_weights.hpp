// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the boundary between two neighbours costs (boundary_times in cost.hpp), for every pair of their
// choices. Both see the tensor with the extents of the boundary, which may differ from their own (heads).

#include <ashlar/search/choice_class.hpp>

namespace ashlar::search {

/// The matrix of weights: [choice of the left][choice of the right].
template <int N, tabulated_move_prices Paths>
constexpr scratch<double> boundary_weights(choice_class const& left, choice_class const& right,
                                           shape const& extents, basic_problem<N> const& net,
                                           boundary_times const& times, Paths& paths) {
  int const n = left.size(), k = right.size();
  int const table = paths.table(extents, net.element_size);
  // States are numbered alike in all tables of one rank.
  auto const states = [&](choice_class const& c, scratch<int> const& own, int rank,
                          placement layer_choice::*which) {
    if (rank == extents.rank()) return own;
    scratch<int> list(own.size());
    for (int j = 0; j < c.size(); ++j)
      list.data()[j] = paths.state(table, c.choices.data()[j].*which);
    return list;
  };
  int const y_rank = left.y_extents.rank(), x_rank = right.x_extents.rank();
  auto const y = states(left, left.y, y_rank, &layer_choice::y);
  auto const dy = states(left, left.dy, y_rank, &layer_choice::dy);
  auto const x = states(right, right.x, x_rank, &layer_choice::x);
  auto const dx = states(right, right.dx, x_rank, &layer_choice::dx);
  scratch<double const*> from_dx(dx.size());
  double const** const back = from_dx.data();
  for (int b = 0; b < k; ++b) back[b] = paths.weight_from(table, dx.data()[b]);
  scratch<double> matrix(static_cast<std::size_t>(n) * static_cast<std::size_t>(k));
  double* out = matrix.data();
  int const* const sx = x.data();
  for (int a = 0; a < n; ++a) {
    double const* const forth = paths.weight_from(table, y.data()[a]);
    int const target = dy.data()[a];
    for (int b = 0; b < k; ++b) *out++ = times(forth[sx[b]], back[b][target]);
  }
  return matrix;
}

}  // namespace ashlar::search
