// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Where a part of a shard lies in the shard's memory, which is row-major over its box.
//
//   is_contiguous(whole, region)   one run of memory
//   offset_of(whole, region)       elements before the region's first

#include <ashlar/layout/layout.hpp>

namespace ashlar {

/// Whether `region` of a row-major shard with box `whole` is one run of memory.
constexpr bool is_contiguous(box const& whole, box const& region) {
  bool partial_seen = false;  // from the last dim outwards: full dims, one partial, then ones
  for (int d = whole.rank() - 1; d >= 0; --d) {
    if (partial_seen && region[d].size != 1) return region.elements() == 0;
    if (region[d].size != whole[d].size) partial_seen = true;
  }
  return true;
}

/// The offset of a region's first element in a shard.
constexpr std::int64_t offset_of(box const& whole, box const& region) {
  std::int64_t offset = 0;
  for (int d = 0; d < whole.rank(); ++d)
    offset = offset * whole[d].size + (region[d].begin - whole[d].begin);
  return offset;
}

}  // namespace ashlar
