// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: dot: on one mesh axis the operands have different placements or are both partial. Bring them to one placement, or make one of two partial operands broadcast, as in dot(x, y | to<...>).

// The product of two sums is not the sum of the products.

#include <ashlar/tensor/dot.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 2, sbp<B>> const& y) { return dot(x, y); }
#else
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 2, sbp<P>> const& y) { return dot(x, y); }
#endif
