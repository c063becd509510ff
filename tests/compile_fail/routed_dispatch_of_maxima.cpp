// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: dispatch: the operand is a partial maximum or minimum, but the sum of its rows needs values or a partial sum. Reduce it first, as in dispatch(x | to<B, ...>, routes).

// combine later sums the rows of a token, but a sum of partial maxima has no meaning.

#include <ashlar/tensor/routed_operators.hpp>

using namespace ashlar::placements;
using ashlar::routed;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using placed = sbp<P>;
#else
using placed = sbp<Pmax>;
#endif

auto f(tensor<float, 2, placed> const& x, std::shared_ptr<ashlar::routing const> const& routes) {
  return dispatch(x, routes);
}
