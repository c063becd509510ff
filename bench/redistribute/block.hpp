// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Packs and unpacks blocks of a shard for the MPI programs of bare.hpp, as a good programmer would:
// with one memcpy for each row, or for several rows that are contiguous in both shards. This code
// does not use the library's copy functions, because the library is compared with these MPI
// programs.

#include <cstring>
#include <vector>

#include <ashlar/layout/layout.hpp>

namespace ashlar_bench {

/// Returns the offset of the first element of `block` in a row-major array that holds exactly the
/// elements with indices in `whole`.
inline std::int64_t offset_in(ashlar::box const& whole, ashlar::box const& block) {
  std::int64_t offset = 0;
  for (int d = 0; d < whole.rank(); ++d)
    offset = offset * whole[d].size + (block[d].begin - whole[d].begin);
  return offset;
}

/// Copies the elements with indices in `block` between two row-major arrays. `source` holds the
/// elements with indices in `from`, and `target` holds the elements with indices in `to`.
inline void copy_block(ashlar::box const& from, double const* source, ashlar::box const& to,
                       double* target, ashlar::box const& block) {
  if (block.elements() == 0) return;
  int d = block.rank();
  std::int64_t run = 1;  // the number of elements that are contiguous in both shards
  while (d > 0) {
    --d;
    run *= block[d].size;
    if (block[d].size != from[d].size || block[d].size != to[d].size) break;
  }
  std::int64_t const runs = block.elements() / run;
  double const* const first = source + offset_in(from, block);
  double* const place = target + offset_in(to, block);
  for (std::int64_t r = 0; r < runs; ++r) {
    std::int64_t rest = r, at = 0, there = 0, stride = 1, stride_there = 1;
    for (int i = block.rank() - 1; i >= 0; --i) {
      if (i < d) {
        at += rest % block[i].size * stride;
        there += rest % block[i].size * stride_there;
        rest /= block[i].size;
      }
      stride *= from[i].size;
      stride_there *= to[i].size;
    }
    std::memcpy(place + there, first + at, static_cast<std::size_t>(run) * sizeof(double));
  }
}

/// Returns whether the blocks need no packing. This is so if they follow each other without gaps,
/// in their order, from the start of a row-major array that holds the indices of `whole`. Empty
/// blocks do not count.
inline bool lie_in_order(ashlar::box const& whole, std::vector<ashlar::box> const& blocks) {
  std::int64_t expected = 0;
  for (auto const& b : blocks) {
    if (b.elements() == 0) continue;
    // Let dimension d be the first in which the block has more than one index. The block is
    // contiguous if it has full extent in all later dimensions.
    int d = 0;
    while (d < b.rank() && b[d].size == 1) ++d;
    for (int i = d + 1; i < b.rank(); ++i)
      if (b[i].size != whole[i].size) return false;
    if (offset_in(whole, b) != expected) return false;
    expected += b.elements();
  }
  return true;
}

}  // namespace ashlar_bench
