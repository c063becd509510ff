// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: subtract in place: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x -= (y | to<...>).
// expect: multiply in place: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x *= (y | to<...>).
// expect: divide in place: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x /= (y | to<...>).

// One mesh axis splits the rows of x and also the only dim of y. But that dim is matched with the
// columns of x.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using rows = tensor<float, 2, sbp<S<0>>>;
#ifdef ASHLAR_CONTROL
using line = tensor<float, 1, sbp<B>>;
#else
using line = tensor<float, 1, sbp<S<0>>>;
#endif

void subtract_in_place(rows& x, line const& y) { x -= y; }
void multiply_in_place(rows& x, line const& y) { x *= y; }
void divide_in_place(rows& x, line const& y) { x /= y; }
