// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: gradient: the operands must have one element type and one kind of processor.

// The operands have different element types, and gradient() does not convert them.

#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/gradient.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto g(tensor<float, 1, ashlar::dynamic> const& x, tensor<double, 1, ashlar::dynamic> const& y) {
  return ashlar::gradient([](auto u, auto v) { return u * v; })(x, ashlar::cast<float>(y));
}
#else
auto g(tensor<float, 1, ashlar::dynamic> const& x, tensor<double, 1, ashlar::dynamic> const& y) {
  return ashlar::gradient([](auto u, auto v) { return u * v; })(x, y);
}
#endif
