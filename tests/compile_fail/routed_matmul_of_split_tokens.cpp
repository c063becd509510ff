// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: on one mesh axis the rows and the matrices of the experts do not fit. Rows of split tokens take whole matrices, and split experts have their rows: move the rows first, as in matmul(r | to<S<1>, ...>, w).

// The tokens are split, and so are the experts' matrices. No rank has all matrices that its rows
// need.

#include <ashlar/tensor/routed_operators.hpp>

using namespace ashlar::placements;
using ashlar::routed;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using rows = sbp<S<1>, B>;
#else
using rows = sbp<S<0>, B>;
#endif

auto f(routed<float, rows> const& r, tensor<float, 3, sbp<S<0>, B>> const& w) {
  return matmul(r, w);
}
