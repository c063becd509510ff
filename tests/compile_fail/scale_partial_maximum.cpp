// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: multiply: a partial maximum or minimum cannot be scaled addend by addend, since a negative factor swaps the two. Reduce it first, as in a * (x | to<B, ...>).

// The factor may be negative, which would turn the maximum into a minimum.

#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& x) { return 2 * x; }
#else
auto f(tensor<float, 2, sbp<Pmax>> const& x) { return 2 * x; }
#endif
