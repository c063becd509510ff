// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: divide: a partial maximum or minimum cannot be scaled addend by addend, since a negative factor swaps the two. Reduce it first, as in (x | to<B, ...>) / a.

// The operand is a partial minimum. The divisor may be negative, which would turn the minimum into
// a maximum.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x) { return x / 2; }
#else
auto f(tensor<float, 2, sbp<Pmin>> const& x) { return x / 2; }
#endif
