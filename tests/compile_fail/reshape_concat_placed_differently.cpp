// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: concat: the tensors differ in element type, number of dimensions or placement.

// The concatenated tensors have different placements.

#include <ashlar/tensor/concat.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x, tensor<float, 2, sbp<S<0>, B>> const& y) {
  return ashlar::concat<0>(x, y);
}
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x, tensor<float, 2, sbp<B, B>> const& y) {
  return ashlar::concat<0>(x, y);
}
#endif
