// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: less: on one mesh axis the operands are partial or placed differently, and how the addends compare does not say how the sums do. Bring both to one placement first, as in x < (y | to<...>).
// expect: less_equal: on one mesh axis the operands are partial or placed differently, and how the addends compare does not say how the sums do. Bring both to one placement first, as in x <= (y | to<...>).
// expect: greater: on one mesh axis the operands are partial or placed differently, and how the addends compare does not say how the sums do. Bring both to one placement first, as in x > (y | to<...>).
// expect: equal: on one mesh axis the operands are partial or placed differently, and how the addends compare does not say how the sums do. Bring both to one placement first, as in equal(x, y | to<...>).

// How the addends of two partial tensors compare says nothing about how the sums compare.

#include <ashlar/tensor/compare.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
using values = tensor<float, 2, sbp<B>>;
#else
using values = tensor<float, 2, sbp<P>>;
#endif

auto less_of(values const& x) { return x < x; }
auto less_equal_of(values const& x) { return x <= x; }
auto greater_of(values const& x) { return x > x; }
auto equal_of(values const& x) { return equal(x, x); }
