// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: multiply: on one mesh axis the operands have different placements or are both partial. Bring them to one placement, or make one of two partial operands broadcast, as in x * (y | to<...>).

// A product of two partial tensors is not the sum of the products of the addends.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 2, sbp<B>> const& y) { return x * y; }
#else
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 2, sbp<P>> const& y) { return x * y; }
#endif
