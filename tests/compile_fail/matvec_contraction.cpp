// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: the vector is not split by the same axes in the same order as the dimension of the matrix that is summed over. Split it in the same way, as in matmul(a, x | to<...>).

// The columns of the matrix are split, but not the vector.

#include <ashlar/tensor/matvec.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<1>>> const& x, tensor<float, 1, sbp<S<0>>> const& y) {
  return matmul(x, y);
}
#else
auto f(tensor<float, 2, sbp<S<1>>> const& x, tensor<float, 1, sbp<B>> const& y) {
  return matmul(x, y);
}
#endif
