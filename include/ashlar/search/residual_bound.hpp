// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A lower bound of the cost of a residual for each choice, by relaxation: the two ends need not
// take the same choice. That takes one pass over the elements between them instead of one pass per
// choice.
//
//   bound[r]   = max over the elements e between the ends of
//                min over choices of e ( cost from begin in choice r to e, end free )  +
//                min over choices of e ( cost from e to end in choice r, begin free )
//   through[c] = the least cost of any path through choice c of an element, both ends free

#include <algorithm>

#include <ashlar/search/chain_solver.hpp>

namespace ashlar::search {

/// Returns per choice of the residual that begins at `begin` a lower bound of solver.inside(begin).
/// Sets through[i - begin] to lower bounds per choice of each element i on the level within. They
/// include the least own cost of the residual.
template <int N, class Paths>
constexpr scratch<double> residual_bound(chain_solver<N, Paths>& solver, int begin,
                                         scratch<scratch<double>>& through) {
  auto& model = solver.model();
  int const end = model.partner(begin), n = model.choices(begin).size();
  scratch<double> bound(static_cast<std::size_t>(n));
  if (end == begin + 1) {
    for (int r = 0; r < n; ++r) bound.data()[r] = solver.between(begin, r, r);
    return bound;
  }
  scratch<double> const nothing(static_cast<std::size_t>(n));
  auto const size = static_cast<std::size_t>(model.size());
  scratch<scratch<double>> before(size), after(size);
  solver.forward(begin + 1, end - 1, solver.advance(begin, solver.own(begin)), &before);
  solver.backward(begin + 1, end - 1, solver.retreat(end - 1, nothing), after);
  for (int i = begin + 1; i < end; i = solver.skip_inside(i) + 1) {
    auto& sum = through.data()[i - begin];
    sum = before.data()[i];
    for (std::size_t c = 0; c < sum.size(); ++c) sum.data()[c] += after.data()[i].data()[c];
  }
  for (int cut = begin + 1; cut < end; cut = solver.skip_inside(cut) + 1) {
    auto const [left, right] = solver.halves(begin, cut, -1);
    for (int r = 0; r < n; ++r)
      bound.data()[r] = std::max(bound.data()[r], left.data()[r] + right.data()[r]);
  }
  return bound;
}

}  // namespace ashlar::search
