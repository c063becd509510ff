// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: both operands are partial on one mesh axis, and a product of sums is not the sum of the products. Reduce one of them first, as in matmul(x | to<...>, w).
// expect: on_mesh_axis<4>::fits

// The error shows the mesh axis on which both operands are partial.

#include <ashlar/tensor/matmul.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B, B, B, B, B>> const& x,
       tensor<float, 2, sbp<B, B, B, B, P>> const& w) {
  return matmul(x, w);
}
#else
auto f(tensor<float, 2, sbp<B, B, B, B, P>> const& x,
       tensor<float, 2, sbp<B, B, B, B, P>> const& w) {
  return matmul(x, w);
}
#endif
