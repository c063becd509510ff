// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: min: the operand is a partial sum, and the extremum of a sum and a number is not the sum of extrema. Reduce it first, as in min(x | to<B, ...>, a).

// The smaller of an addend and a number says nothing about the sum.

#include <ashlar/tensor/extremum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<Pmin>> const& x) { return min(x, 1); }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return min(x, 1); }
#endif
