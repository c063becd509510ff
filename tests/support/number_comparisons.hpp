// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Comparisons of tensors with numbers, for tests of hosts and devices. Some of the numbers are not
// bfloat16 values, and the tensors contain the bfloat16 values next to them. If a kernel rounded
// such a number to bfloat16 before the comparison, it would find wrongly that the number equals an
// element.

#include <type_traits>

#include <support/dense.hpp>

#include <ashlar/support/bfloat16.hpp>
#include <ashlar/tensor/compare.hpp>

namespace ashlar_test {

/// Returns x == y if both are numbers. Otherwise at least one of them is a tensor, and this returns
/// equal(x, y).
template <class X, class Y>
auto are_equal(X const& x, Y const& y) {
  if constexpr (std::is_arithmetic_v<X> && std::is_arithmetic_v<Y>) return x == y;
  else return equal(x, y);
}

/// Calls visit(text, name, compare) for each comparison of x and a number, in both orders. `text`
/// is the comparison as it is written, and `name` its name in errors. compare(x, a) accepts a
/// tensor x, and also a number x, from which tests compute the expected values.
template <class Visit>
void for_each_number_comparison(Visit const& visit) {
  visit("x < a", "less", [](auto const& x, double a) { return x < a; });
  visit("a < x", "less", [](auto const& x, double a) { return a < x; });
  visit("x <= a", "less_equal", [](auto const& x, double a) { return x <= a; });
  visit("a <= x", "less_equal", [](auto const& x, double a) { return a <= x; });
  visit("x > a", "greater", [](auto const& x, double a) { return x > a; });
  visit("a > x", "greater", [](auto const& x, double a) { return a > x; });
  visit("x >= a", "greater_equal", [](auto const& x, double a) { return x >= a; });
  visit("a >= x", "greater_equal", [](auto const& x, double a) { return a >= x; });
  visit("equal(x, a)", "equal", [](auto const& x, double a) { return are_equal(x, a); });
  visit("equal(a, x)", "equal", [](auto const& x, double a) { return are_equal(a, x); });
}

/// Numbers to compare with. Only the last one is exact in bfloat16.
inline constexpr double compared_numbers[] = {0.3, -1.0 / 3, 100.3, 1e-3, -2.5};

/// Returns a matrix with three columns. Row i has the bfloat16 value that is nearest to number i of
/// compared_numbers, and the bfloat16 values before and after it.
inline dense values_next_to_numbers() {
  dense x({static_cast<int>(std::size(compared_numbers)), 3});
  std::size_t at = 0;
  for (double const a : compared_numbers) {
    unsigned const bits = ashlar::bfloat16(a).bits();
    for (unsigned const near : {bits - 1, bits, bits + 1})
      x.values[at++] = static_cast<double>(
          ashlar::bfloat16::from_bits(static_cast<std::uint16_t>(near)));
  }
  return x;
}

}  // namespace ashlar_test
