// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Locates a range of the elements of a region in the memory of a shard that contains the region.
// The elements of the region are numbered in its row-major order.

#include <algorithm>

#include <ashlar/layout/region.hpp>

namespace ashlar {

/// Calls f(offset, count) for each contiguous run of the elements begin .. begin + size of
/// `region`, in ascending order. `offset` is the number of elements between the start of the
/// row-major shard with box `whole` and the start of the run. `count` is the number of elements of
/// the run.
template <class F>
constexpr void for_each_run(box const& whole, box const& region, std::int64_t begin,
                            std::int64_t size, F const& f) {
  // A run covers the innermost dims that the region has in full, and one dim more.
  std::int64_t run = 1;
  int outer = region.rank();
  while (outer > 0) {
    run *= region[--outer].size;
    if (region[outer].size != whole[outer].size) break;
  }
  for (std::int64_t const end = begin + size; begin < end;) {
    std::int64_t row = begin / run, stride = 1, offset = 0;
    for (int d = region.rank() - 1; d >= 0; --d) {
      std::int64_t const index = d < outer ? row % region[d].size : 0;
      if (d < outer) row /= region[d].size;
      offset += (region[d].begin + index - whole[d].begin) * stride;
      stride *= whole[d].size;
    }
    std::int64_t const within = begin % run, count = std::min(run - within, end - begin);
    f(offset + within, count);
    begin += count;
  }
}

}  // namespace ashlar
