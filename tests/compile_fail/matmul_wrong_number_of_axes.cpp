// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: the operands have different numbers of placements, so they are on different meshes. Give both one placement per axis of one mesh.

// The operands are placed on meshes with different numbers of axes.

#include <ashlar/tensor/matmul.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<B>> const& w) {
  return matmul(x, w);
}
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<B, B>> const& w) {
  return matmul(x, w);
}
#endif
