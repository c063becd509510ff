// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: multiply in place: the right operand has more dimensions than x, whose extents stay.

// The right operand is a matrix, and x is a vector.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using rows = tensor<float, 1, sbp<B>>;

#ifdef ASHLAR_CONTROL
void f(rows& x, tensor<float, 1, sbp<B>> const& y) { (void)(x *= y); }
#else
void f(rows& x, tensor<float, 2, sbp<B>> const& y) { (void)(x *= y); }
#endif
