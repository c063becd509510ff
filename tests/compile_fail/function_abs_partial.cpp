// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: abs: a non-linear map of a partial tensor is wrong, since f(a + b) is not f(a) + f(b). Reduce it first, as in abs(x | to<B, ...>).

// abs is not linear, so applying it to each addend gives a wrong sum.

#include <ashlar/tensor/functions.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return abs(x); }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return abs(x); }
#endif
