// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: max: on one mesh axis the operands are partial sums or placed differently.

// The sum of the larger addends is not the larger of the two sums.

#include <ashlar/tensor/extremum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<Pmax>> const& x, tensor<float, 2, sbp<B>> const& y) {
  return max(x, y);
}
#else
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 2, sbp<P>> const& y) { return max(x, y); }
#endif
