// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: less_equal: how the addends of a partial tensor compare with a number does not say how their sum does. Reduce it first, with x | to<B, ...>.
// expect: greater: how the addends of a partial tensor compare with a number does not say how their sum does. Reduce it first, with x | to<B, ...>.
// expect: greater_equal: how the addends of a partial tensor compare with a number does not say how their sum does. Reduce it first, with x | to<B, ...>.
// expect: equal: how the addends of a partial tensor compare with a number does not say how their sum does. Reduce it first, with x | to<B, ...>.

// The number stands on the left or on the right.

#include <ashlar/tensor/compare.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using values = tensor<float, 2, sbp<B>>;
#else
using values = tensor<float, 2, sbp<P>>;
#endif

auto less_equal_of(values const& x) { return x <= 2; }
auto greater_of(values const& x) { return 2 > x; }
auto greater_equal_of(values const& x) { return x >= 2; }
auto equal_of(values const& x) { return equal(2, x); }
