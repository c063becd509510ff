// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: map: a non-linear map of a partial tensor is wrong, since f(a + b) is not f(a) + f(b). Reduce it first, as in map(r | to<B, ...>, f).

// The product over split features is partial, and an activation function is not linear.

#include <ashlar/tensor/routed_operators.hpp>

using namespace ashlar::placements;
using ashlar::routed;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using features = sbp<B>;
#else
using features = sbp<S<2>>;
#endif
#ifdef ASHLAR_CONTROL
using inner = sbp<S<2>>;
#else
using inner = sbp<S<1>>;
#endif

auto f(routed<float, features> const& r, tensor<float, 3, inner> const& w) {
  return map(matmul(r, w), [](float v) { return v * v; });
}
