// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: less: how the addends of a partial tensor compare with a number does not say how their sum does.

// Each addend may be less than 2 although the sum is greater than 2.

#include <ashlar/tensor/compare.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return x < 2; }
#else
auto f(tensor<float, 2, sbp<P>> const& x) { return x < 2; }
#endif
