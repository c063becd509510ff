// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Transposes one matrix, called a plane: dst[i, j] = src[j, i]. The rows of dst and of src are
// contiguous. The distance between rows is often a power of two. In this case, the cache lines and
// pages that are in use compete for a few sets of the caches and the TLB. This competition limits
// the speed more than the number of bytes does. Therefore the plane is divided into blocks, each
// block into tiles, and each tile into squares:
//
//   block    1024 x 1024      Its pages fit into the second-level TLB.
//   tile     128 x 128        It is copied through a buffer, so that complete cache lines are read
//                             and written.
//   square   one vector wide  It is transposed in registers in log2(width) stages, if T has 2, 4 or
//                             8 bytes.
//
// strided_copy.hpp divides arrays with any number of dims into planes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ashlar/config.hpp>

namespace ashlar::device::host::detail {

inline constexpr std::int64_t transpose_block = 1024;
inline constexpr std::int64_t transpose_tile = 128;
template <class T>
inline constexpr std::int64_t transpose_pitch = transpose_tile +
                                                static_cast<std::int64_t>(64 / sizeof(T));

/// The size in bytes of the vectors with which small squares of a matrix are transposed. On AVX2,
/// whose vector registers have 32 bytes, vectors of 16 bytes are used, because moving data between
/// the two halves of a register is slow.
inline constexpr std::size_t square_bytes = ASHLAR_VECTOR_BYTES < 64 ? 16 : 32;

/// An unsigned integer type of the size of T, for T of 2, 4 or 8 bytes.
template <class T>
using word_of =
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

/// Transposes a square of words in vector registers. Each row of the square is a vector of Bytes
/// bytes.
template <class Word, std::size_t Bytes>
struct square {
  static constexpr std::size_t width = Bytes / sizeof(Word);
  using line [[gnu::vector_size(Bytes)]] = Word;

  // A step of the recursive transposition. The matrix consists of squares of side 2 Step, and each
  // of these squares consists of four blocks of side Step. The step swaps the two off-diagonal
  // blocks of each square. This function performs the swap for two rows: `upper` is a row of the
  // upper blocks, and `lower` is the row that is Step rows below `upper`. The right parts of
  // `upper` are swapped with the left parts of `lower`.
  template <std::size_t Step, std::size_t... Lane>
  static void exchange(line& upper, line& lower, std::index_sequence<Lane...>) {
    line const a = upper;
    line const b = lower;
    upper = __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? Lane - Step + width : Lane)...);
    lower = __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? Lane + width : Lane + Step)...);
  }

  template <std::size_t Step>
  static void stage(line (&lines)[width]) {
    for (std::size_t i = 0; i < width; ++i) {
      if ((i & Step) == 0) {
        exchange<Step>(lines[i], lines[i + Step], std::make_index_sequence<width>{});
      }
    }
    if constexpr (Step > 1) stage<Step / 2>(lines);
  }

  // Interleaves rows i and i + width / 2, element by element, for all i. log2(width) such steps
  // transpose the square. This method is used for vectors of 16 bytes, because SSE2 has
  // instructions that interleave. SSE2 has no instructions for the exchanges of stage(), which
  // would therefore be made element by element.
  template <std::size_t... Lane>
  static void interleave(line (&lines)[width], std::index_sequence<Lane...>) {
    line next[width];
    for (std::size_t i = 0; i < width / 2; ++i) {
      line const a = lines[i];
      line const b = lines[i + width / 2];
      next[2 * i] = __builtin_shufflevector(a, b, (Lane / 2 + Lane % 2 * width)...);
      next[2 * i + 1] = __builtin_shufflevector(a, b, ((Lane + width) / 2 + Lane % 2 * width)...);
    }
    for (std::size_t i = 0; i < width; ++i) lines[i] = next[i];
  }

  /// Transposes the square at `in`, whose rows are `pitch` words apart. Calls put(i, row) for each
  /// row i of the result. `row` is a vector.
  template <class Put>
  static void transpose(void const* in, std::int64_t pitch, Put put) {
    line lines[width];
    for (std::size_t i = 0; i < width; ++i) {
      std::memcpy(&lines[i], static_cast<Word const*>(in) + static_cast<std::int64_t>(i) * pitch,
                  sizeof(line));
    }
    if constexpr (Bytes == 16) {
      for (std::size_t bit = 1; bit < width; bit *= 2)
        interleave(lines, std::make_index_sequence<width>{});
    } else {
      stage<width / 2>(lines);
    }
    for (std::size_t i = 0; i < width; ++i) put(i, lines[i]);
  }
};

/// Copies a tile of src into the buffer: buffer[j, i] = src[j, i] for 0 <= i < height and 0 <= j <
/// width. If the tile has its full height, the size of each memcpy is a constant, which makes the
/// memcpy faster.
template <class T>
void fill_tile(T const* src, std::int64_t src_stride, std::int64_t height, std::int64_t width,
               T* buffer) {
  if (height == transpose_tile) {
    for (std::int64_t j = 0; j < width; ++j) {
      std::memcpy(buffer + j * transpose_pitch<T>, src + j * src_stride,
                  sizeof(T) * static_cast<std::size_t>(transpose_tile));
    }
  } else {
    for (std::int64_t j = 0; j < width; ++j) {
      std::copy_n(src + j * src_stride, height, buffer + j * transpose_pitch<T>);
    }
  }
}

/// Writes the transpose of the buffer to dst: dst[i, j] = buffer[j, i]. Complete squares are
/// transposed in registers. The remaining rows and columns are transposed element by element.
template <class T>
void empty_tile(T const* ASHLAR_RESTRICT buffer, std::int64_t height, std::int64_t width,
                T* ASHLAR_RESTRICT dst, std::int64_t dst_stride) {
  constexpr std::int64_t pitch = transpose_pitch<T>;
  std::int64_t squared_height = 0;
  std::int64_t squared_width = 0;
  if constexpr (std::is_trivially_copyable_v<T> &&
                (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8)) {
    constexpr auto side = static_cast<std::int64_t>(square<word_of<T>, square_bytes>::width);
    squared_height = height - height % side;
    squared_width = width - width % side;
    constexpr auto per_line = static_cast<std::int64_t>(64 / sizeof(T));
    for (std::int64_t i = 0; i < squared_height; i += side) {
      // Prefetches the rows of dst that the next squares write. The hardware's prefetcher does not
      // prefetch these rows, because only loads start it.
      for (std::int64_t k = i + side; k < std::min(i + 2 * side, height); ++k) {
        for (std::int64_t l = 0; l < width; l += per_line) {
          __builtin_prefetch(dst + k * dst_stride + l, 1);
        }
      }
      for (std::int64_t j = 0; j < squared_width; j += side) {
        square<word_of<T>, square_bytes>::transpose(
            buffer + j * pitch + i, pitch, [=](std::size_t k, auto const& line) {
              std::memcpy(dst + (i + static_cast<std::int64_t>(k)) * dst_stride + j, &line,
                          square_bytes);
            });
      }
    }
  }
  for (std::int64_t i = 0; i < height; ++i) {
    T* const row = dst + i * dst_stride;
    for (std::int64_t j = i < squared_height ? squared_width : 0; j < width; ++j) {
      std::memcpy(row + j, buffer + j * pitch + i, sizeof(T));
    }
  }
}

/// Sets dst[i * dst_stride + j] = src[j * src_stride + i] for 0 <= i < rows and 0 <= j < cols.
template <class T>
void transpose_plane(T const* src, std::int64_t src_stride, std::int64_t rows, std::int64_t cols,
                     T* dst, std::int64_t dst_stride) {
  constexpr std::int64_t tile = transpose_tile;
  alignas(64) T buffer[tile * transpose_pitch<T>];
  for (std::int64_t ib = 0; ib < rows; ib += transpose_block) {
    for (std::int64_t jb = 0; jb < cols; jb += transpose_block) {
      std::int64_t const i_end = std::min(ib + transpose_block, rows);
      std::int64_t const j_end = std::min(jb + transpose_block, cols);
      for (std::int64_t i0 = ib; i0 < i_end; i0 += tile) {
        std::int64_t const height = std::min(tile, i_end - i0);
        for (std::int64_t j0 = jb; j0 < j_end; j0 += tile) {
          std::int64_t const width = std::min(tile, j_end - j0);
          fill_tile(src + j0 * src_stride + i0, src_stride, height, width, buffer);
          empty_tile(buffer, height, width, dst + i0 * dst_stride + j0, dst_stride);
        }
      }
    }
  }
}

}  // namespace ashlar::device::host::detail
