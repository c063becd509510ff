// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: the contracted dimension is not split by the same axes in the same order on both operands. Split it in the same way on both, or let ashlar plan it: matmul<sbp<...>>(x, w).

// The contracted dimension is split on both operands, but along different axes.

#include <ashlar/tensor/matmul.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<1>, B>> const& x, tensor<float, 2, sbp<S<0>, S<1>>> const& w) {
  return matmul(x, w);
}
#else
auto f(tensor<float, 2, sbp<S<1>, B>> const& x, tensor<float, 2, sbp<B, S<0>>> const& w) {
  return matmul(x, w);
}
#endif
