// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines counted_part, which says which bytes of an element enter a sum over all elements.
// counted_memory.hpp uses such a sum as a lower bound of a plan's memory.

#include <algorithm>

#include <ashlar/step/memory.hpp>

namespace ashlar::search {

/// Selects the bytes of a layer that are counted, in addition to those that it holds for the whole
/// step.
///   none     none
///   held     bytes held between the forward and the backward pass
///   saved    bytes that the forward pass saves for the backward pass
///   once     peak while the layer runs, if it is not recomputed
///   again    peak while the layer runs, if it is recomputed
///   either   a lower bound of `once` and of `again`
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

/// Returns whether a layer needs no more bytes with choice a than with choice b, for every
/// counted_part. The bytes that the layer holds for the whole step are included.
constexpr bool counts_no_more(element_bytes const& a, element_bytes const& b) {
  for (int k = 0; k < counted_parts; ++k) {
    auto const part = static_cast<counted_part>(k);
    if (a.lasting + counted_bytes(part, a) > b.lasting + counted_bytes(part, b)) return false;
  }
  return true;
}

}  // namespace ashlar::search
