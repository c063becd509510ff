// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Converts a number that a program gives, as 2 in 2 * x, to the type A in which the elements of a
// tensor are computed. If A is an integer type, a number that A cannot represent is refused: it
// would become another number.

#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <ashlar/support/error.hpp>

namespace ashlar::detail {

/// Returns whether the integer type A can represent a.
template <class A, class Number>
constexpr bool represents(Number a) {
  if constexpr (std::is_floating_point_v<Number>) {
    constexpr Number least = static_cast<Number>(std::numeric_limits<A>::min());  // -2^k, exact
    return a >= least && a < -least && static_cast<Number>(static_cast<A>(a)) == a;
  } else {
    return std::in_range<A>(+a);  // the sign makes an int of a bool or a character
  }
}

/// Returns `a` as a number of type A. Throws ashlar::error in the name of the operation `name` if A
/// is an integer type that cannot represent `a`.
template <class A, class Number>
A number_as([[maybe_unused]] char const* name, Number const& a) {
  if constexpr (std::is_integral_v<A> && std::is_arithmetic_v<Number>)
    if (!represents<A>(a))
      throw error(name, std::to_string(+a) + " is not an integer from " +
                            std::to_string(std::numeric_limits<A>::min()) + " to " +
                            std::to_string(std::numeric_limits<A>::max()) +
                            ", as the tensor's elements are. Give such a number, or make the "
                            "tensor of another type.");
  return static_cast<A>(a);
}

}  // namespace ashlar::detail
