// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: map: a non-linear map of a partial tensor is wrong, since f(a + b) is not f(a) + f(b). Reduce it first, as in map(x | to<B, ...>, f).

// A function f may not be mapped over a partial maximum. For all a and b, f(max(a, b)) is
// max(f(a), f(b)) only if f never decreases.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

auto square = [](float v) { return v * v; };

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return map(x, square); }
#else
auto f(tensor<float, 2, sbp<Pmax>> const& x) { return map(x, square); }
#endif
