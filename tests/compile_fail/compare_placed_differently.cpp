// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: greater_equal: on one mesh axis the operands are partial or placed differently, and how the addends compare does not say how the sums do. Bring both to one placement first, as in x >= (y | to<...>).

// A rank has other elements of x than of y: rows of x, but columns of y.

#include <ashlar/tensor/compare.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<S<0>>> const& y) {
  return x >= y;
}
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<S<1>>> const& y) {
  return x >= y;
}
#endif
