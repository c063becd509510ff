// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gradient: a function has one to five operands.

// gradient() treats its function as a formula, which has an input and at most four weights.

#include <ashlar/tensor/gradient.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto g(tensor<float, 1, ashlar::dynamic> const& x) {
  return ashlar::gradient([](auto... u) { return (u + ...); })(x, x, x, x, x);
}
#else
auto g(tensor<float, 1, ashlar::dynamic> const& x) {
  return ashlar::gradient([](auto... u) { return (u + ...); })(x, x, x, x, x, x);
}
#endif
