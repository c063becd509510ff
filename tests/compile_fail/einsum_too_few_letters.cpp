// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: einsum: the operands are not as many as the text has, or a tensor has more or fewer dimensions than letters, or they differ in element type or processor.

// The left operand is a matrix, so it needs two letters.

#include <ashlar/tensor/einsum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x, tensor<float, 1, sbp<B>> const& y) {
  return ashlar::einsum<"mk,k->m">(x, y);
}
#else
auto f(tensor<float, 2, sbp<B>> const& x, tensor<float, 1, sbp<B>> const& y) {
  return ashlar::einsum<"m,m->m">(x, y);
}
#endif
