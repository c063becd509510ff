// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out whether all ranks have the same number, by means of a sum over all ranks that a program
// computes anyway. Each rank appends a few addends to its part of the sum.
//
// The 64 bits of the number are four parts of 16 bits. For each part h, a rank contributes the
// addends h and h². For n ranks, n Σ h² - (Σ h)² is n² times the variance of h, so it is 0 only if
// all h are equal. Doubles represent both sums exactly for up to 2^21 ranks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ashlar {

/// The number of addends: two for each of the four parts.
inline constexpr std::size_t agreement_addends = 8;

/// Returns the addends that a rank contributes to the sums. `value` is its number to compare.
constexpr std::array<double, agreement_addends> agreement_of(std::uint64_t value) {
  std::array<double, agreement_addends> made{};
  for (std::size_t k = 0; k < made.size(); k += 2, value >>= 16) {
    made[k] = static_cast<double>(value & 0xffff);
    made[k + 1] = made[k] * made[k];
  }
  return made;
}

/// Returns whether all `ranks` ranks have the same number. `sums` has the sums of agreement_of()
/// over all ranks.
constexpr bool all_agree(std::span<double const, agreement_addends> sums, int ranks) {
  for (std::size_t k = 0; k < sums.size(); k += 2) {
    // With more than 2^16 ranks, the products may wrap around. Then equal products remain equal,
    // but different products may become equal.
    auto const sum = static_cast<std::uint64_t>(sums[k]);
    auto const squares = static_cast<std::uint64_t>(sums[k + 1]);
    if (static_cast<std::uint64_t>(ranks) * squares != sum * sum) return false;
  }
  return true;
}

}  // namespace ashlar
