// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Brings nested loops over two strided arrays, a source and a destination, to a canonical form.
// This form has as few loops (dims) as possible, in the order that makes writes most sequential:
//
//   1. Dims of extent 1 are removed. If a dim has extent 0, all loops are empty.
//   2. Dims are sorted by decreasing destination stride, then by decreasing source stride.
//   3. A dim and the next inner one are merged if they can be traversed with one stride, in the
//      source and in the destination.
//
// strided_copy.hpp and reduce_strided.hpp choose the code that runs over the canonical loop.

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace ashlar::device::host {

inline constexpr int max_strided_rank = 8;

struct strided_dim {
  std::int64_t extent;
  std::int64_t src_stride;
  std::int64_t dst_stride;
};

struct strided_loop {
  std::array<strided_dim, max_strided_rank> dim{};
  int rank = 0;
  bool empty = false;

  constexpr std::int64_t elements() const {
    std::int64_t product = empty ? 0 : 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) product *= dim[d].extent;
    return product;
  }
  /// Returns the extent of the innermost dim, or 1 if there are no dims.
  constexpr std::int64_t run() const {
    return rank == 0 ? 1 : dim[static_cast<std::size_t>(rank - 1)].extent;
  }
};

namespace detail {

constexpr std::int64_t magnitude(std::int64_t value) { return value < 0 ? -value : value; }

/// Returns whether dim `a` must be an outer loop of dim `b` in the canonical order: the dim with
/// the larger destination stride is the outer loop. If the destination strides are equal, the dim
/// with the larger source stride is the outer loop. The signs of strides do not matter.
constexpr bool is_outside(strided_dim const& a, strided_dim const& b) {
  std::int64_t const left = magnitude(a.dst_stride);
  std::int64_t const right = magnitude(b.dst_stride);
  return left != right ? left > right : magnitude(a.src_stride) > magnitude(b.src_stride);
}

}  // namespace detail

/// Returns the canonical form of `rank` nested loops: the smallest destination stride is innermost,
/// and dims are merged where possible. Strides are in elements. Throws std::invalid_argument if
/// there are more than 8 dims.
inline strided_loop canonical_loop(int rank, std::int64_t const* extents,
                                   std::int64_t const* src_strides,
                                   std::int64_t const* dst_strides) {
  if (rank < 0 || rank > max_strided_rank) {
    throw std::invalid_argument(
        "strided loop: the number of dims is not in [0, 8]. Merge some dims.");
  }
  strided_loop sorted;
  for (int d = 0; d < rank; ++d) {
    if (extents[d] == 0) sorted.empty = true;
    if (extents[d] == 1) continue;
    strided_dim const added{extents[d], src_strides[d], dst_strides[d]};
    auto place = static_cast<std::size_t>(sorted.rank++);
    while (place > 0 && detail::is_outside(added, sorted.dim[place - 1])) {
      sorted.dim[place] = sorted.dim[place - 1];
      --place;
    }
    sorted.dim[place] = added;
  }
  strided_loop merged;
  merged.empty = sorted.empty;
  for (std::size_t d = 0; d < static_cast<std::size_t>(sorted.rank); ++d) {
    strided_dim const inner = sorted.dim[d];
    if (merged.rank > 0) {
      strided_dim& outer = merged.dim[static_cast<std::size_t>(merged.rank - 1)];
      if (outer.src_stride == inner.src_stride * inner.extent &&
          outer.dst_stride == inner.dst_stride * inner.extent) {
        outer = {outer.extent * inner.extent, inner.src_stride, inner.dst_stride};
        continue;
      }
    }
    merged.dim[static_cast<std::size_t>(merged.rank++)] = inner;
  }
  return merged;
}

/// Loops over all dims except the `inner` innermost ones. Calls visit(src_offset, dst_offset) in
/// each iteration, with the offsets in elements.
template <class Visit>
void for_each_outer(strided_loop const& loop, int inner, Visit visit) {
  if (loop.empty) return;
  int const outer = loop.rank - inner;
  std::array<std::int64_t, max_strided_rank> index{};
  std::int64_t src = 0;
  std::int64_t dst = 0;
  while (true) {
    visit(src, dst);
    int d = outer - 1;
    for (; d >= 0; --d) {
      auto const at = static_cast<std::size_t>(d);
      src += loop.dim[at].src_stride;
      dst += loop.dim[at].dst_stride;
      if (++index[at] < loop.dim[at].extent) break;
      src -= loop.dim[at].extent * loop.dim[at].src_stride;
      dst -= loop.dim[at].extent * loop.dim[at].dst_stride;
      index[at] = 0;
    }
    if (d < 0) return;
  }
}

/// Loops over all dims except the two innermost ones, which form a plane of rows. Calls visit(rows,
/// src_offset, dst_offset) for each plane. `rows` is the outer dim of the plane. A loop with only
/// one dim is a plane with one row. Requires at least one dim.
template <class Visit>
void for_each_plane_of_rows(strided_loop const& loop, Visit visit) {
  bool const single = loop.rank == 1;
  strided_dim const rows = single ? strided_dim{1, 0, 0}
                                  : loop.dim[static_cast<std::size_t>(loop.rank - 2)];
  for_each_outer(loop, single ? 1 : 2,
                 [&](std::int64_t from, std::int64_t to) { visit(rows, from, to); });
}

}  // namespace ashlar::device::host
