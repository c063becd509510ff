// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Locates a box within the row-major memory of a shard.
//
//   is_contiguous(whole, region)   whether the region is one contiguous range of the shard
//   offset_of(whole, region)       the number of elements of the shard before the region

#include <ashlar/layout/layout.hpp>

namespace ashlar {

/// Returns whether `region` is contiguous in the memory of a row-major shard with box `whole`.
constexpr bool is_contiguous(box const& whole, box const& region) {
  // From the last dim outwards, a contiguous region has some full dims, then at most one partial
  // dim, and then only dims of size 1.
  bool partial_seen = false;
  for (int d = whole.rank() - 1; d >= 0; --d) {
    if (partial_seen && region[d].size != 1) return region.elements() == 0;
    if (region[d].size != whole[d].size) partial_seen = true;
  }
  return true;
}

/// Returns the offset, in elements, of the first element of `region` in a shard with box `whole`.
constexpr std::int64_t offset_of(box const& whole, box const& region) {
  std::int64_t offset = 0;
  for (int d = 0; d < whole.rank(); ++d)
    offset = offset * whole[d].size + (region[d].begin - whole[d].begin);
  return offset;
}

}  // namespace ashlar
