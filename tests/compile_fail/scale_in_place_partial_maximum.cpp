// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: multiply in place: a partial maximum or minimum cannot be scaled addend by addend, since a negative factor swaps the two. Reduce it first, as in auto y = x | to<B, ...>; y *= a.

// The factor may be negative, which would turn the maximum into a minimum.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>>& x) { return x *= 2; }
#else
auto f(tensor<float, 2, sbp<Pmax>>& x) { return x *= 2; }
#endif
