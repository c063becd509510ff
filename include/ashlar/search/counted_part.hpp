// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The parts of an element's memory that may count in a sum over all elements (counted_memory.hpp).

#include <algorithm>

#include <ashlar/step/memory.hpp>

namespace ashlar::search {

/// The bytes of an element that are counted in addition to its lasting bytes. `none`: none. `held`:
/// those held between its passes. `saved`: those saved for its backward pass. The others are the
/// peak while the element runs: `once` if its forward pass runs once, `again` if it is recomputed,
/// `either` a lower bound for both.
enum class counted_part : signed char { none, held, saved, once, again, either };
inline constexpr int counted_parts = 6;

constexpr std::int64_t counted_bytes(counted_part part, element_bytes const& own) {
  switch (part) {
    case counted_part::none: break;
    case counted_part::held: return own.held;
    case counted_part::saved: return own.saved;
    case counted_part::once: return std::max(own.forward, own.saved + own.backward);
    case counted_part::again: return std::max(own.again, own.saved + own.backward);
    case counted_part::either: return std::max(own.forward - own.saved, own.backward);
  }
  return 0;
}

/// Returns whether an element under choice a has no more lasting and counted bytes than under
/// choice b, for every counted part.
constexpr bool counts_no_more(element_bytes const& a, element_bytes const& b) {
  for (int k = 0; k < counted_parts; ++k) {
    auto const part = static_cast<counted_part>(k);
    if (a.lasting + counted_bytes(part, a) > b.lasting + counted_bytes(part, b)) return false;
  }
  return true;
}

}  // namespace ashlar::search
