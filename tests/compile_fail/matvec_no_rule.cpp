// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: on one mesh axis this matrix and this vector need communication. Redistribute one of them first, as in matmul(a, x | to<...>).

// The rows of the matrix are split, so the vector must be replicated along this axis. But
// the vector is partial.

#include <ashlar/tensor/matvec.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 1, sbp<B>> const& y) {
  return matmul(x, y);
}
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 1, sbp<P>> const& y) {
  return matmul(x, y);
}
#endif
