// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: map: on one mesh axis the operands are partial or placed differently. Bring them to one placement first, as in map(f, x, y | to<...>).

// The operands have different placements, so their shards on a rank cover different elements.

#include <ashlar/tensor/map.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<S<0>>> const& y) {
  return ashlar::map([](float a, float b) { return a < b ? a : b; }, x, y);
}
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x, tensor<float, 2, sbp<S<1>>> const& y) {
  return ashlar::map([](float a, float b) { return a < b ? a : b; }, x, y);
}
#endif
