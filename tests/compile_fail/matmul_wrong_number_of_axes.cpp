// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: on one mesh axis these placements need communication. Redistribute an operand with x | to<...>, or let ashlar plan it: matmul<sbp<...>>(x, w).

// Operands of meshes with different numbers of axes.

#include <ashlar/tensor/matmul.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<B>> const& w) {
  return matmul(x, w);
}
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<B, B>> const& w) {
  return matmul(x, w);
}
#endif
