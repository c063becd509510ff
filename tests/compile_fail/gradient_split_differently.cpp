// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gradient: u + v of the function or of its gradient needs communication.

// The operands are split along different dims.

#include <ashlar/tensor/gradient.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

constexpr auto f = [](auto x, auto w) { return x + 2 * w; };

#ifdef ASHLAR_CONTROL
auto g(tensor<float, 2, sbp<S<1>>> const& x, tensor<float, 2, sbp<S<1>>> const& w) {
  return ashlar::gradient(f)(x, w);
}
#else
auto g(tensor<float, 2, sbp<S<1>>> const& x, tensor<float, 2, sbp<S<0>>> const& w) {
  return ashlar::gradient(f)(x, w);
}
#endif
