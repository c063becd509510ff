// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Transposes large matrices: dst[i, j] = src[j, i], where the rows of dst and of src are
// contiguous. dst is written with non-temporal stores, which bypass the caches. The loops are
// nested as follows:
//
//   block    1024 rows of dst, because their pages fit into the second-level TLB
//   strip    n columns of a block, where n is the number of elements in a cache line of dst; it is
//            read from n rows of src, sequentially along each row
//   square   as many rows and columns as a vector has elements; it is transposed in registers and
//            written as complete cache lines
//
// All elements of a cache line of src are used right after the cache line is read. So no data has
// to stay in a cache, whatever the strides are. transpose_plane.hpp transposes the borders that do
// not fill complete cache lines or squares.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ashlar/device/host/stream_store.hpp>
#include <ashlar/device/host/transpose_plane.hpp>

namespace ashlar::device::host::detail {

/// A transposition uses non-temporal stores only if it reads and writes at least this many bytes
/// together. Copies use non-temporal stores only from a larger size on (stream_from). A
/// transposition profits more from non-temporal stores than a copy: with ordinary stores, the
/// transposition takes more than twice as long.
inline constexpr std::int64_t transpose_stream_from = std::int64_t{4} << 20;

/// Returns whether a matrix with these extents is transposed with non-temporal stores. The main
/// conditions are:
///
/// - `bytes`, the number of bytes read and written, is at least transpose_stream_from
/// - all rows of dst have the same alignment to cache lines
/// - a vector register is as large as a cache line; with vectors of half this size, which need two
///   stores for each cache line, non-temporal stores were slower than ordinary stores
template <class T>
constexpr bool is_streamed_plane(std::int64_t bytes, std::int64_t cols, std::int64_t dst_stride) {
  constexpr std::int64_t size = sizeof(T);
  return ASHLAR_STREAM_STORES != 0 && ASHLAR_VECTOR_BYTES == line_bytes &&
         (size == 2 || size == 4 || size == 8) && bytes >= transpose_stream_from &&
         cols * size >= 2 * line_bytes && dst_stride * size % line_bytes == 0;
}

/// Does the same as transpose_plane, but with non-temporal stores. The caller must call
/// stream_fence() afterwards. Only this fence orders the non-temporal stores before later stores.
template <class T>
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
  transpose_plane(src, src_stride, squared, head, dst, dst_stride);
  transpose_plane(src + end * src_stride, src_stride, squared, cols - end, dst + end, dst_stride);
  transpose_plane(src + squared, src_stride, rows - squared, cols, dst + squared * dst_stride,
                  dst_stride);
}

}  // namespace ashlar::device::host::detail
