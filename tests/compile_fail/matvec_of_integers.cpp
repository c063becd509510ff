// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: there is no product of integer matrices. Make the operands of float, double or bfloat16.

// The matrix and the vector hold integers.

#include <ashlar/tensor/matvec.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x, tensor<float, 1, sbp<B>> const& y) {
  return matmul(x, y);
}
#else
auto f(tensor<std::int32_t, 2, sbp<B>> const& x, tensor<std::int32_t, 1, sbp<B>> const& y) {
  return matmul(x, y);
}
#endif
