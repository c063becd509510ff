// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: less: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: less_equal: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: greater: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: greater_equal: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: equal: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: max: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: min: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: where: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: add: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: subtract: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: add in place: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: subtract in place: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.
// expect: multiply in place: a tensor of integers takes no fraction, since its digits after the point would be lost. Write an integer, as in 2 instead of 2.0, or make the tensor of float or double.

// A fraction such as 2.5 would be truncated to 2 before the operator uses it.

#include <ashlar/tensor/compare.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/where.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using integers = tensor<std::int32_t, 1, sbp<B>>;
#ifdef ASHLAR_CONTROL
using number = std::int32_t;
#else
using number = double;
#endif

auto fraction_0(integers const& x, number a) { return x < a; }
auto fraction_1(integers const& x, number a) { return a <= x; }
auto fraction_2(integers const& x, number a) { return x > a; }
auto fraction_3(integers const& x, number a) { return a >= x; }
auto fraction_4(integers const& x, number a) { return equal(x, a); }
auto fraction_5(integers const& x, number a) { return max(x, a); }
auto fraction_6(integers const& x, number a) { return min(a, x); }
auto fraction_7(integers const& x, number a) { return where(x, x, a); }
auto fraction_8(integers const& x, number a) { return x + a; }
auto fraction_9(integers const& x, number a) { return a - x; }
auto fraction_10(integers& x, number a) { return x += a; }
auto fraction_11(integers& x, number a) { return x -= a; }
auto fraction_12(integers& x, number a) { return x *= a; }
