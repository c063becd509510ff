// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a reduction of partial values begins with, and what ranks hold that have nothing to add:
//
//   sum   0        max   the least value, -inf if there is one        min   the greatest

#include <limits>

#include <ashlar/placement/axis_placement.hpp>

namespace ashlar {

/// What a reduction leaves unchanged: 0, the least value, the greatest value.
template <class T>
constexpr T identity_of(reduction op) {
  using limits = std::numeric_limits<T>;
  if (op == reduction::sum) return T{};
  if constexpr (limits::has_infinity)
    return op == reduction::max ? -limits::infinity() : limits::infinity();
  else return op == reduction::max ? limits::lowest() : limits::max();
}

}  // namespace ashlar
