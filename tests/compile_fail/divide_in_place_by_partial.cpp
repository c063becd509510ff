// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: divide in place: on one mesh axis the result would not lie as x does, and x stays where it is. Bring the right operand to a placement that fits first, as in x /= (y | to<...>).

// A quotient is not linear in its divisor, so dividing by each addend gives a wrong sum.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>>& x, tensor<float, 2, sbp<B>> const& y) { return x /= y; }
#else
auto f(tensor<float, 2, sbp<B>>& x, tensor<float, 2, sbp<P>> const& y) { return x /= y; }
#endif
