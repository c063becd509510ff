// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add in place: the right operand has more dimensions than x, whose extents stay. Write z = x + y instead, or the like.
// expect: subtract in place: the right operand has more dimensions than x, whose extents stay. Write z = x + y instead, or the like.
// expect: divide in place: the right operand has more dimensions than x, whose extents stay. Write z = x + y instead, or the like.

// The right operand is a matrix, and x is a vector.

#include <ashlar/tensor/in_place.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using line = tensor<float, 1, sbp<B>>;
#ifdef ASHLAR_CONTROL
using right = line;
#else
using right = tensor<float, 2, sbp<B>>;
#endif

void add_in_place(line& x, right const& y) { x += y; }
void subtract_in_place(line& x, right const& y) { x -= y; }
void divide_in_place(line& x, right const& y) { x /= y; }
