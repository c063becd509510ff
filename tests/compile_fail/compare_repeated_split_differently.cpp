// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: less: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x < (y | to<...>).
// expect: less_equal: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x <= (y | to<...>).
// expect: greater: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x > (y | to<...>).
// expect: greater_equal: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x >= (y | to<...>).
// expect: equal: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in equal(x, y | to<...>).

// One mesh axis splits the rows of x and also the only dim of y. But that dim is matched with the
// columns of x.

#include <ashlar/tensor/compare.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using rows = tensor<float, 2, sbp<S<0>>>;
#ifdef ASHLAR_CONTROL
using line = tensor<float, 1, sbp<B>>;
#else
using line = tensor<float, 1, sbp<S<0>>>;
#endif

auto less_of(rows const& x, line const& y) { return x < y; }
auto less_equal_of(rows const& x, line const& y) { return x <= y; }
auto greater_of(rows const& x, line const& y) { return x > y; }
auto greater_equal_of(rows const& x, line const& y) { return x >= y; }
auto equal_of(rows const& x, line const& y) { return equal(x, y); }
