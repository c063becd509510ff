// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: where: it takes a mask and two tensors of one element type, or one tensor and a number, all on one type of processor.

// The two tensors have different element types, and where() does not convert them.

#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/where.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& x, tensor<double, 2, sbp<B>> const& y) {
  return where(x, x, ashlar::cast<float>(y));
}
#else
auto f(tensor<float, 2, sbp<B>> const& x, tensor<double, 2, sbp<B>> const& y) {
  return where(x, x, y);
}
#endif
