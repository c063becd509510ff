// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add in place: on one mesh axis the result would not lie as x does, and x stays where it is. Bring the right operand to a placement that fits first, as in x += (y | to<...>).

// Every rank would add the replicated operand to its addend, so the sum would count it once per
// rank.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>>& x, tensor<float, 2, sbp<P>> const& y) { return x += y; }
#else
auto f(tensor<float, 2, sbp<P>>& x, tensor<float, 2, sbp<B>> const& y) { return x += y; }
#endif
