// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: subtract: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: multiply: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: divide: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: add in place: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: subtract in place: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: multiply in place: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: divide in place: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: less: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: less_equal: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: greater: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: greater_equal: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: equal: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: max: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: min: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).
// expect: map: the operands are not tensors of one element type and one number of dimensions, on one type of processor and with one tag.

// Each message names the operator that was written.

#include <ashlar/tensor/compare.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/map.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using left = tensor<float, 1, sbp<B>>;
#ifdef ASHLAR_CONTROL
using right = left;
#else
using right = tensor<double, 1, sbp<B>>;
#endif

auto operator_0(left& x, right const& y) { return x - y; }
auto operator_1(left& x, right const& y) { return x * y; }
auto operator_2(left& x, right const& y) { return x / y; }
auto operator_3(left& x, right const& y) { return x += y; }
auto operator_4(left& x, right const& y) { return x -= y; }
auto operator_5(left& x, right const& y) { return x *= y; }
auto operator_6(left& x, right const& y) { return x /= y; }
auto operator_7(left& x, right const& y) { return x < y; }
auto operator_8(left& x, right const& y) { return x <= y; }
auto operator_9(left& x, right const& y) { return x > y; }
auto operator_10(left& x, right const& y) { return x >= y; }
auto operator_11(left& x, right const& y) { return equal(x, y); }
auto operator_12(left& x, right const& y) { return max(x, y); }
auto operator_13(left& x, right const& y) { return min(x, y); }
auto map_of(left const& x, right const& y) {
  return map([](float v, float w) { return v + w; }, x, y);
}
