// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: matmul: on one mesh axis these placements need communication. Redistribute an operand with x | to<...>, or let ashlar plan it: matmul<sbp<...>>(x, w).

// One operand splits its rows and the other its columns along the same axis.

#include <ashlar/tensor/matmul.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, B>> const& x, tensor<float, 2, sbp<B, S<1>>> const& w) {
  return matmul(x, w);
}
#else
auto f(tensor<float, 2, sbp<S<0>, B>> const& x, tensor<float, 2, sbp<S<1>, B>> const& w) {
  return matmul(x, w);
}
#endif
