// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gradient: the function must return a tensor that it computes from its operands.

// The function returns a number.

#include <ashlar/tensor/gradient.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto g(tensor<float, 1, ashlar::dynamic> const& x) {
  return ashlar::gradient([](auto u) { return 2 * u; })(x);
}
#else
auto g(tensor<float, 1, ashlar::dynamic> const& x) {
  return ashlar::gradient([](auto) { return 2; })(x);
}
#endif
