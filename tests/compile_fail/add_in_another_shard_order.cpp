// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add: the operands have different placements on one mesh axis (a broadcast operand added to a partial one would count once per rank). Bring them to one placement first, as in x + (y | to<...>).

// The operands are split by rows along both axes, but in different shard orders. So a rank may have
// other rows of x than of y.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>, S<0>>> const& x, tensor<float, 2, sbp<S<0>, S<0>>> const& y) {
  return x + y;
}
#else
auto f(tensor<float, 2, sbp<S<0>, S<0>>> const& x,
       tensor<float, 2, sbp<S<0, 1>, S<0, 0>>> const& y) {
  return x + y;
}
#endif
