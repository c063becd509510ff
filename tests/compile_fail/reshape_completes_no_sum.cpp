// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: reshape: partial axes stay partial and no other axis becomes partial.

// A reshape cannot complete partial sums.

#include <ashlar/tensor/reshape.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P, B>> const& x) { return ashlar::reshape<sbp<P, B>>(x, {24}); }
#else
auto f(tensor<float, 2, sbp<P, B>> const& x) { return ashlar::reshape<sbp<B, B>>(x, {24}); }
#endif
