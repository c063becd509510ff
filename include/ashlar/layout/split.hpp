// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The balanced split: n items over p parts give the first n mod p parts one more. Parts may be
// empty. Never chunks of ceil(n / p): with those, merging two axes is not the same as nesting them,
// and trailing ranks starve.
//
// Nested splits split each part again, outermost axis first.

#include <cstdint>

namespace ashlar {

/// The half-open range [begin, begin + size) of a dimension.
struct interval {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  constexpr std::int64_t end() const { return begin + size; }
  friend constexpr bool operator==(interval const&, interval const&) = default;
};

/// Part `index` of `parts` of an interval.
constexpr interval balanced_part(interval whole, int parts, int index) {
  std::int64_t const quotient = whole.size / parts;
  std::int64_t const remainder = whole.size % parts;
  std::int64_t const extra = index < remainder ? index : remainder;
  return {whole.begin + index * quotient + extra, quotient + (index < remainder ? 1 : 0)};
}

/// Whether every index of `inner` is one of `outer`; an empty interval is part of any.
constexpr bool contains(interval outer, interval inner) {
  return inner.size == 0 || (outer.begin <= inner.begin && inner.end() <= outer.end());
}

constexpr interval intersect(interval a, interval b) {
  std::int64_t const begin = a.begin > b.begin ? a.begin : b.begin;
  std::int64_t const end = a.end() < b.end() ? a.end() : b.end();
  return {begin, end > begin ? end - begin : 0};
}

}  // namespace ashlar
