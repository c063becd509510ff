// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: divide: on one mesh axis the operands have different placements, or the divisor is partial. Reduce a partial divisor and bring both to one placement, as in x / (y | to<...>); a partial x may be divided by a broadcast y.

// A quotient is not linear in its divisor, so dividing by each addend gives a wrong sum.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x, tensor<float, 2, sbp<B>> const& y) { return x / y; }
#else
auto f(tensor<float, 2, sbp<B>> const& x, tensor<float, 2, sbp<P>> const& y) { return x / y; }
#endif
