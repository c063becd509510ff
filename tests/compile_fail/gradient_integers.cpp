// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gradient: the operands must be tensors of float or double.

// Integers have no gradients.

#include <ashlar/tensor/gradient.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

constexpr auto f = [](auto x, auto w) { return x * w; };

#ifdef ASHLAR_CONTROL
auto g(tensor<float, 2, sbp<B>> const& x, tensor<float, 2, sbp<B>> const& w) {
  return ashlar::gradient(f)(x, w);
}
#else
auto g(tensor<int, 2, sbp<B>> const& x, tensor<int, 2, sbp<B>> const& w) {
  return ashlar::gradient(f)(x, w);
}
#endif
