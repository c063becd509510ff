// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out whether all ranks have the same number, by means of two maxima over all ranks: of the
// number and of its complement. The complement of the second is the minimum of the numbers. So all
// are equal if and only if these maxima are complements of each other.

#include <array>
#include <cstdint>

namespace ashlar {

/// Returns what a rank whose number is `value` gives to the maxima.
constexpr std::array<std::int64_t, 2> bounds_of(std::uint64_t value) {
  return {static_cast<std::int64_t>(value), static_cast<std::int64_t>(~value)};
}

/// Returns whether all ranks gave the bounds of the same number.
constexpr bool all_agree(std::array<std::int64_t, 2> const& maxima) {
  return maxima[0] == ~maxima[1];
}

}  // namespace ashlar
