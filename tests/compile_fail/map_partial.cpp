// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gelu: a non-linear map of a partial tensor is wrong, since f(a + b) is not f(a) + f(b). Reduce it first, as in gelu(x | to<B, ...>).

// gelu is not linear, so applying it to each addend gives a wrong sum.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x) { return gelu(x); }
#else
auto f(tensor<float, 2, sbp<S<0>, P>> const& x) { return gelu(x); }
#endif
