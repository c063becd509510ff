// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blocks of a shard as the bare MPI programs pack them: a good hand's version, rows by memcpy, and
// runs of rows at once where they are one run of memory on both sides. Written apart from the
// library, whose results are compared with these.

#include <cstring>
#include <vector>

#include <ashlar/layout/layout.hpp>

namespace ashlar_bench {

/// Where the first element of `block` is in a row-major shard of `whole`.
inline std::int64_t offset_in(ashlar::box const& whole, ashlar::box const& block) {
  std::int64_t offset = 0;
  for (int d = 0; d < whole.rank(); ++d)
    offset = offset * whole[d].size + (block[d].begin - whole[d].begin);
  return offset;
}

/// Copies `block` from a shard of box `from` to a shard of box `to`.
inline void copy_block(ashlar::box const& from, double const* source, ashlar::box const& to,
                       double* target, ashlar::box const& block) {
  if (block.elements() == 0) return;
  int d = block.rank();
  std::int64_t run = 1;  // elements that follow each other on both sides
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

/// Whether the nonempty blocks lie one behind the other in a shard of `whole`, from its start.
inline bool lie_in_order(ashlar::box const& whole, std::vector<ashlar::box> const& blocks) {
  std::int64_t expected = 0;
  for (auto const& b : blocks) {
    if (b.elements() == 0) continue;
    // One run: dims behind the first that has several indices are whole.
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
