// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out whether all ranks have the same number, by means of two maxima over all ranks: the
// maximum of the number and the maximum of its bitwise complement. The complement of the second
// maximum is the minimum of the numbers. So all numbers are equal if and only if the two maxima are
// complements of each other.

#include <array>
#include <cstdint>

namespace ashlar {

/// Returns the two values that a rank with the number `value` contributes to the maxima.
constexpr std::array<std::int64_t, 2> bounds_of(std::uint64_t value) {
  return {static_cast<std::int64_t>(value), static_cast<std::int64_t>(~value)};
}

/// Returns whether all ranks have the same number. `maxima` has the maxima of bounds_of() over all
/// ranks.
constexpr bool all_agree(std::array<std::int64_t, 2> const& maxima) {
  return maxima[0] == ~maxima[1];
}

}  // namespace ashlar
