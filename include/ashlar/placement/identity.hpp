// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the identity element of a reduction. It is the initial value when partial values are
// reduced, and the value on ranks that have nothing to add:
//
//   sum   0
//   max   -inf, or the least value of a type without infinity
//   min   +inf, or the greatest value of a type without infinity

#include <limits>

#include <ashlar/placement/axis_placement.hpp>

namespace ashlar {

/// Returns the value e for which op(e, x) = x for every x.
template <class T>
constexpr T identity_of(reduction op) {
  using limits = std::numeric_limits<T>;
  if (op == reduction::sum) return T{};
  if constexpr (limits::has_infinity)
    return op == reduction::max ? -limits::infinity() : limits::infinity();
  else return op == reduction::max ? limits::lowest() : limits::max();
}

}  // namespace ashlar
