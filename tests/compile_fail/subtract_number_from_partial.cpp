// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: subtract: a number is not added to the addends of a partial tensor, since it would count once per rank. Reduce it first, as in (x | to<B, ...>) - a.

// Every rank would subtract the number from its addend, so the number would be subtracted from the
// sum once per rank.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return x - 1; }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return x - 1; }
#endif
