// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: max: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in max(x, y | to<...>).
// expect: min: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in min(x, y | to<...>).
// expect: min: on one mesh axis the operands are partial sums or placed differently. Bring both to one placement first, as in min(x, y | to<...>).
// expect: max: the operand is a partial sum, and the extremum of a sum and a number is not the sum of extrema. Reduce it first, as in max(x | to<B, ...>, a).

// The files extremum_of_partial_sum*.cpp test other calls of max and min.

#include <ashlar/tensor/extremum.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using rows = tensor<float, 2, sbp<S<0>>>;
#ifdef ASHLAR_CONTROL
using line = tensor<float, 1, sbp<B>>;
using values = tensor<float, 2, sbp<S<0>>>;
#else
using line = tensor<float, 1, sbp<S<0>>>;
using values = tensor<float, 2, sbp<P>>;
#endif

auto larger(rows const& x, line const& y) { return max(x, y); }
auto smaller(line const& y, rows const& x) { return min(y, x); }
auto smaller_of_sums(rows const& x, values const& y) { return min(x, y); }
auto at_least(values const& x) { return max(2, x); }
