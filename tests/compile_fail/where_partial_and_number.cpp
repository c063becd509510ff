// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: where: on one mesh axis the mask is partial, or the operands are placed differently.

// Where the mask is 0, every rank would return the number itself as its addend, so the sum over the
// ranks would contain the number several times.

#include <ashlar/tensor/where.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& mask, tensor<float, 2, sbp<P>> const& x) {
  return where(mask, x, x);
}
#else
auto f(tensor<float, 2, sbp<B>> const& mask, tensor<float, 2, sbp<P>> const& x) {
  return where(mask, x, 1);
}
#endif
