// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes lower bounds of the cost of a residual by relaxation. The exact cost, for which both
// ends must take the same choice, needs one pass over the elements between the ends per choice. The
// bounds need one pass per element.
//
//   bound[r]     is for choice r of the ends. A path from begin to end is cut at an element e
//                between them. Its two halves may take different choices of e. The e with the
//                highest bound counts:
//                  max over e of ( min over choices of e of the cost from begin in choice r to e  +
//                                  min over choices of e of the cost from e to end in choice r )
//   through[c]   is for choice c of an element between the ends: the least cost of any path through
//                c. The two ends may take different choices.

#include <algorithm>

#include <ashlar/search/chain_solver.hpp>

namespace ashlar::search {

/// Returns the lower bounds bound[r] of solver.inside(begin)[r] for the residual that begins at
/// `begin`. Sets through[i - begin] to the lower bounds for the choices of each element i directly
/// inside the residual; these include the residual's own cost. If nothing is inside the residual,
/// returns the exact costs and leaves `through` unchanged.
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
