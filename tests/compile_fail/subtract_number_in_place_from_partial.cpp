// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: subtract in place: a number is not added to the addends of a partial tensor, since it would count once per rank. Reduce it first, as in auto y = x | to<B, ...>; y -= a.

// Every rank would subtract the number from its addend, so the number would be subtracted from the
// sum once per rank.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>>& x) { return x -= 1; }
#else
auto f(tensor<float, 2, sbp<P>>& x) { return x -= 1; }
#endif
