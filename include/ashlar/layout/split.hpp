// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the balanced split: if n items are split into p parts, the first n mod p parts get one
// item more than the others. Parts may be empty. Parts of ceil(n / p) items would balance less: 5
// items on 4 ranks would give 2, 2, 1 and 0.
//
// If several axes split one dim, each part is split again, starting with the outermost axis.

#include <cstdint>

namespace ashlar {

/// The half-open range [begin, begin + size) of indices of a dim.
struct interval {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  constexpr std::int64_t end() const { return begin + size; }
  friend constexpr bool operator==(interval const&, interval const&) = default;
};

/// Returns part `index` of the balanced split of `whole` into `parts` parts.
constexpr interval balanced_part(interval whole, int parts, int index) {
  std::int64_t const quotient = whole.size / parts;
  std::int64_t const remainder = whole.size % parts;
  std::int64_t const extra = index < remainder ? index : remainder;
  return {whole.begin + index * quotient + extra, quotient + (index < remainder ? 1 : 0)};
}

/// Returns whether `inner` is inside `outer`. An empty interval is inside every interval.
constexpr bool contains(interval outer, interval inner) {
  return inner.size == 0 || (outer.begin <= inner.begin && inner.end() <= outer.end());
}

constexpr interval intersect(interval a, interval b) {
  std::int64_t const begin = a.begin > b.begin ? a.begin : b.begin;
  std::int64_t const end = a.end() < b.end() ? a.end() : b.end();
  return {begin, end > begin ? end - begin : 0};
}

}  // namespace ashlar
