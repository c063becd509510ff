// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: einsum: on one mesh axis a letter is not split in the same way on both operands, or both are partial
// expect: letter_on_mesh_axis<'k', 0>::fits

// A rank has some columns of x, and all rows of w.

#include <ashlar/tensor/einsum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<1>>> const& x, tensor<float, 2, sbp<S<0>>> const& w) {
  return ashlar::einsum<"mk,kn->mn">(x, w);
}
#else
auto f(tensor<float, 2, sbp<S<1>>> const& x, tensor<float, 2, sbp<B>> const& w) {
  return ashlar::einsum<"mk,kn->mn">(x, w);
}
#endif
