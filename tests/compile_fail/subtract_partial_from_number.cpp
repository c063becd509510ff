// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: subtract: a number is not added to the addends of a partial tensor, since it would count once per rank. Reduce it first, as in a - (x | to<B, ...>).

// Every rank would subtract its addend from the number, so the sum over the ranks would contain the
// number several times.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return 1 - x; }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return 1 - x; }
#endif
