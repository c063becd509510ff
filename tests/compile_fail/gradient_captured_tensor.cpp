// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: formula: a tensor that the function captures is no operand of the formula.

// The function multiplies its operand by a tensor that it captures.

#include <ashlar/tensor/gradient.hpp>

using ashlar::tensor;

using vector = tensor<float, 1, ashlar::dynamic>;

#ifdef ASHLAR_CONTROL
auto g(vector const& x, vector const& w) {
  return ashlar::gradient([](auto u, auto v) { return u * v; })(x, w);
}
#else
auto g(vector const& x, vector const& w) {
  return ashlar::gradient([w](auto u) { return u * w; })(x);
}
#endif
