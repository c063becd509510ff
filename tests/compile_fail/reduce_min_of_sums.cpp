// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: min: the operand is partial with another reduction than the requested one, and they do not commute. Reduce it first, as in min<0>(x | to<B, ...>).

// The minimum of partial sums is not allowed. The message must name the reduction that was called.

#include <ashlar/tensor/reduce.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<double, 2, sbp<Pmin>> const& x) { return ashlar::min<1>(x); }
#else
auto f(tensor<double, 2, sbp<P>> const& x) { return ashlar::min<1>(x); }
#endif
