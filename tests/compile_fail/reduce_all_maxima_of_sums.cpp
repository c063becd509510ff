// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: max: the operand is partial with another reduction than the requested one, and they do not commute. Reduce it first, as in max<0>(x | to<B, ...>).

// The largest element of a partial sum is not the largest element of its addends.

#include <ashlar/tensor/reduce.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<Pmax, S<1>>> const& x) { return max(x); }
#else
auto f(tensor<float, 2, sbp<P, S<1>>> const& x) { return max(x); }
#endif
