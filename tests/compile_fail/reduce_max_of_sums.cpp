// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: max: the operand is partial with another reduction than the requested one, and they do not commute. Reduce it first, as in max<0>(x | to<B, ...>).

// A maximum or minimum of sums is not the sum of the addends' maxima or minima.

#include <ashlar/tensor/reduce.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x) { return ashlar::sum<0>(x); }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return ashlar::max<0>(x); }
auto g(tensor<float, 2, sbp<P>> const& x) { return ashlar::min<1>(x); }
#endif
