// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes lower bounds of the cost of a residual block by relaxation. The exact cost requires that
// both ends take the same choice. Computing it takes one run of dynamic programming for each choice
// of the ends. The bounds take only one run for each inner element.
//
//   bound[r]     for choice r of the two ends. A path through the block is split at one inner
//                element e. Its two halves may take different choices of e, so the sum below is a
//                lower bound. The largest one over all e is used:
//                  max over e of ( min over choices of e of the cost from begin in choice r to e  +
//                                  min over choices of e of the cost from e to end in choice r )
//   through[c]   for choice c of an inner element: the least cost of any path through c. The two
//                ends may take different choices.

#include <algorithm>

#include <ashlar/search/chain_solver.hpp>

namespace ashlar::search {

/// Computes lower bounds of the cost of the residual block that begins at element `begin`:
/// - The result has a lower bound of the cost inside the block, per choice of its two ends.
/// - through[k][c] becomes a lower bound of the block's cost, including the cost of its ends, if
///   element `begin` + k takes choice c.
///
/// If the block has no inner elements, the result is exact and `through` stays unchanged.
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
