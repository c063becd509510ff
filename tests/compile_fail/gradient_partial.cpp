// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gradient: the function applies a non-linear function, relu, to a partial tensor. Reduce the operand first, as in x | to<B, ...>.

// The product is a partial sum.

#include <ashlar/tensor/gradient.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

constexpr auto f = [](auto x, auto w) { return relu(matmul(x, w)); };

#ifdef ASHLAR_CONTROL
auto g(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<B>> const& w) {
  return ashlar::gradient(f)(x, w);
}
#else
auto g(tensor<float, 2, sbp<S<1>>> const& x, tensor<float, 2, sbp<S<0>>> const& w) {
  return ashlar::gradient(f)(x, w);
}
#endif
