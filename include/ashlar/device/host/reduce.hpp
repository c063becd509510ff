// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sums and maxima in a fixed order that a compiler can vectorise without -ffast-math. There are
// lane_count accumulators, called lanes. Element i is accumulated in lane i mod lane_count. At the
// end the lanes are combined pairwise.
//
//   reduce_sum<T>(n, f)   f(0) + ... + f(n - 1), accumulated in T
//   reduce_max<T>(n, f)   the maximum of f(0), ..., f(n - 1), or -inf if n is 0; ignores NaNs
//
// The order depends only on n. So the result is the same on all machines and with all compiler
// flags except -ffast-math, unless a compiler fuses a product in f and a sum into one instruction,
// which rounds once instead of twice.

#include <cstdint>
#include <limits>

#include <ashlar/config.hpp>

namespace ashlar::device::host {

inline constexpr std::int64_t lane_count = 32;

namespace detail {

// The attribute flatten inlines `term` and `combine` into the loops. Without it, the compiler would
// not vectorise the loops.
template <class T, class Term, class Combine>
[[gnu::flatten]] T reduce_lanes(std::int64_t n, T start, Term term, Combine combine) {
  alignas(64) T lane[lane_count];
  for (std::int64_t l = 0; l < lane_count; ++l) lane[l] = start;
  std::int64_t const whole = n - n % lane_count;
  for (std::int64_t i = 0; i < whole; i += lane_count) {
    ASHLAR_VECTORIZE
    for (std::int64_t l = 0; l < lane_count; ++l) lane[l] = combine(lane[l], term(i + l));
  }
  for (std::int64_t i = whole; i < n; ++i) lane[i - whole] = combine(lane[i - whole], term(i));
  for (std::int64_t half = lane_count / 2; half > 0; half /= 2) {
    for (std::int64_t l = 0; l < half; ++l) lane[l] = combine(lane[l], lane[l + half]);
  }
  return lane[0];
}

}  // namespace detail

/// Returns the sum of term(i) over 0 <= i < n, accumulated in T. term(i) may have side effects on
/// arrays. It may read and write element i of any array, but no other elements.
template <class T, class Term>
T reduce_sum(std::int64_t n, Term term) {
  return detail::reduce_lanes<T>(n, T(0), term, [](T a, T b) { return a + b; });
}

/// Returns the maximum of term(i) over 0 <= i < n, or -inf if n is 0. NaNs are ignored.
template <class T, class Term>
T reduce_max(std::int64_t n, Term term) {
  return detail::reduce_lanes<T>(n, -std::numeric_limits<T>::infinity(), term,
                                 [](T a, T b) { return a < b ? b : a; });
}

}  // namespace ashlar::device::host
