// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out whether all ranks have the same number, by means of two maxima over all ranks: the
// maximum of the number and the maximum of its bitwise complement. The complement of the second
// maximum is the minimum of the numbers. So all numbers are equal if and only if the two maxima are
// complements of each other.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <ashlar/placement/axis_placement.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

/// Returns the two values that a rank contributes to the maxima. `value` is its number to compare.
constexpr std::array<std::int64_t, 2> bounds_of(std::uint64_t value) {
  return {static_cast<std::int64_t>(value), static_cast<std::int64_t>(~value)};
}

/// Returns whether all ranks have the same number. `maxima` has the maxima of bounds_of() over all
/// ranks.
constexpr bool all_agree(std::array<std::int64_t, 2> const& maxima) {
  return maxima[0] == ~maxima[1];
}

namespace detail {

/// Throws ashlar::error of `operation` on every rank if `value` is not the same on all `ranks`
/// ranks. `fault` says in the error what differs. `rank` is this rank. `reduce(op, span)` replaces
/// values by their sums, maxima or minima over all ranks. Communicates: an all-reduce of 16 bytes,
/// and two more of 8 bytes before an error.
template <class Reduce>
void require_agreement(std::uint64_t value, int rank, int ranks, char const* operation,
                       char const* fault, Reduce const& reduce) {
  auto bounds = bounds_of(value);
  reduce(reduction::max, std::span<std::int64_t>(bounds));
  if (all_agree(bounds)) return;
  std::int64_t expected = rank == 0 ? static_cast<std::int64_t>(value) : 0;
  reduce(reduction::sum, std::span<std::int64_t>(&expected, 1));
  std::int64_t other = value == static_cast<std::uint64_t>(expected) ? ranks : rank;
  reduce(reduction::min, std::span<std::int64_t>(&other, 1));
  throw error(operation, std::string(fault) + ": rank " + std::to_string(other) +
                             " has another one than rank 0. All ranks of a mesh must agree on it.");
}

}  // namespace detail
}  // namespace ashlar
