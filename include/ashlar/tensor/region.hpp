// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies between a shard and a part of it: the packing and unpacking of every step.

#include <ashlar/device/host/strided_copy.hpp>
#include <ashlar/layout/layout.hpp>

namespace ashlar {

/// Whether `region` of a row-major shard with box `whole` is one run of memory.
inline bool is_contiguous(box const& whole, box const& region) {
  bool partial_seen = false;  // from the last dim outwards: full dims, one partial, then ones
  for (int d = whole.rank() - 1; d >= 0; --d) {
    if (partial_seen && region[d].size != 1) return region.elements() == 0;
    if (region[d].size != whole[d].size) partial_seen = true;
  }
  return true;
}

/// The offset of a region's first element in a shard.
inline std::int64_t offset_of(box const& whole, box const& region) {
  std::int64_t offset = 0;
  for (int d = 0; d < whole.rank(); ++d)
    offset = offset * whole[d].size + (region[d].begin - whole[d].begin);
  return offset;
}

/// Copies the values of `region` from a shard with box `from` to a shard with box `to`.
/// Either may be `region` itself: a packed block.
template <class T>
void copy_region(box const& region, box const& from, T const* source, box const& to, T* target) {
  if (region.elements() == 0) return;
  std::int64_t extents[max_rank]{}, source_strides[max_rank]{}, target_strides[max_rank]{};
  std::int64_t source_stride = 1, target_stride = 1;
  for (int d = region.rank() - 1; d >= 0; --d) {
    extents[d] = region[d].size;
    source_strides[d] = source_stride;
    target_strides[d] = target_stride;
    source_stride *= from[d].size;
    target_stride *= to[d].size;
  }
  device::host::copy_strided(region.rank(), extents, source + offset_of(from, region),
                             source_strides, target + offset_of(to, region), target_strides);
}

}  // namespace ashlar
