// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: multiply: on one mesh axis the operands do not fit. Their dimensions are matched from the last one on; an axis that splits a dimension of one splits it on the other too, or is B where the other is repeated along it, as in x * (y | to<...>).

// y has one factor for each column of x. One mesh axis splits y, but does not split the columns.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using rows = tensor<float, 2, sbp<B>>;

#ifdef ASHLAR_CONTROL
void f(rows& x, tensor<float, 1, sbp<B>> const& y) { (void)(x * y); }
#else
void f(rows& x, tensor<float, 1, sbp<S<0>>> const& y) { (void)(x * y); }
#endif
