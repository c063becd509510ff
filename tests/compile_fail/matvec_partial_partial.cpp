// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: both operands are partial on one mesh axis, and a product of sums is not the sum of the products. Reduce one of them first, as in matmul(x | to<...>, w).

// Both operands are partial along the same mesh axis. The vector is the left operand.

#include <ashlar/tensor/matvec.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 1, sbp<B>> const& y) {
  return matmul(y, x);
}
#else
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 1, sbp<P>> const& y) {
  return matmul(y, x);
}
#endif
