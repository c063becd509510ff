// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernel of large transpositions, with stores that bypass the caches: dst[i, j] = src[j, i],
// where dst is contiguous along j and src along i.
//
//   block    1024 rows of dst      their pages fit into the second-level TLB
//   strip    one cache line wide   reads as many rows of src as a line has elements, sequentially
//   squares  of complete vectors   transposed in registers; together they write complete lines
//
// Each cache line of src is used completely at once. So no cache has to hold a tile, whatever the
// strides are. transpose_plane.hpp handles the remainder, which is not complete lines or squares.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ashlar/device/host/stream_store.hpp>
#include <ashlar/device/host/transpose_plane.hpp>

namespace ashlar::device::host::detail {

/// Transpositions that read and write at least this many bytes use non-temporal stores. This is
/// less than for other calls (stream_from), because a transposition with ordinary stores takes more
/// than twice as long.
inline constexpr std::int64_t transpose_stream_from = std::int64_t{4} << 20;

/// Returns whether a plane with these extents is written with non-temporal stores. Requires that
/// all rows of dst have the same alignment to cache lines, and that a vector is as large as a cache
/// line. (Writing a line in halves, with several lines in progress, was slower than ordinary
/// stores.)
template <class T>
constexpr bool is_streamed_plane(std::int64_t bytes, std::int64_t cols, std::int64_t dst_stride) {
  constexpr std::int64_t size = sizeof(T);
  return ASHLAR_STREAM_STORES != 0 && ASHLAR_VECTOR_BYTES == line_bytes &&
         (size == 2 || size == 4 || size == 8) && bytes >= transpose_stream_from &&
         cols * size >= 2 * line_bytes && dst_stride * size % line_bytes == 0;
}

/// Like transpose_plane. The caller must call stream_fence() at the end.
template <class Combine, class T>
void transpose_plane_streamed(T const* src, std::int64_t src_stride, std::int64_t rows,
                              std::int64_t cols, T* dst, std::int64_t dst_stride) {
  using squares = square<word_of<T>, ASHLAR_VECTOR_BYTES>;
  constexpr auto side = static_cast<std::int64_t>(squares::width);
  constexpr std::int64_t line = line_bytes / std::int64_t{sizeof(T)};
  std::int64_t const head = stream_head(dst) / std::int64_t{sizeof(T)};
  std::int64_t const end = cols - (cols - head) % line;
  std::int64_t const squared = rows - rows % side;
  for (std::int64_t block = 0; block < squared; block += transpose_block) {
    std::int64_t const block_end = std::min(block + transpose_block, squared);
    for (std::int64_t strip = head; strip < end; strip += line) {
      for (std::int64_t i = block; i < block_end; i += side) {
        for (std::int64_t j = strip; j < strip + line; j += side) {
          T* const to = dst + i * dst_stride + j;
          squares::transpose(
              src + j * src_stride + i, src_stride, [=](std::size_t k, auto const& vector) {
                stream_vector(vector, to + static_cast<std::int64_t>(k) * dst_stride);
              });
        }
      }
    }
  }
  transpose_plane<Combine>(src, src_stride, squared, head, dst, dst_stride);
  transpose_plane<Combine>(src + end * src_stride, src_stride, squared, cols - end, dst + end,
                           dst_stride);
  transpose_plane<Combine>(src + squared, src_stride, rows - squared, cols,
                           dst + squared * dst_stride, dst_stride);
}

}  // namespace ashlar::device::host::detail
