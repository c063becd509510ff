// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies a strided N-dimensional array to another array. Callers use this function to pack shards,
// to slice, to transpose, and to broadcast (with a source stride of 0). The loop over the elements
// is first brought to a canonical form (strided_loop.hpp). The method then depends on the dims
// along which the two arrays are contiguous:
//
//   both along the innermost dim      row by row, by memcpy. copy_rows.hpp copies short rows,
//                                     stream_copy.hpp copies large arrays.
//   destination along the innermost   plane by plane, where these two dims form the planes.
//   dim, source along another dim     transpose_plane.hpp transposes a plane, and
//                                     transpose_stream.hpp does it for copies of large arrays.
//   otherwise                         element by element
//
// T is any trivially copyable type. The two arrays must not overlap, and two indices must not refer
// to the same element of the destination.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/device/host/copy_rows.hpp>
#include <ashlar/device/host/stream_copy.hpp>
#include <ashlar/device/host/strided_loop.hpp>
#include <ashlar/device/host/transpose_plane.hpp>
#include <ashlar/device/host/transpose_stream.hpp>

namespace ashlar::device::host {

namespace detail {

/// Prepares a tiled transposition. Finds a dim, other than the last one, along which the source is
/// contiguous. Moves this dim to the second to last position. Returns false if there is no such
/// dim.
inline bool bring_source_plane_inside(strided_loop& loop) {
  auto const last = static_cast<std::size_t>(loop.rank - 1);
  for (std::size_t d = last; d-- > 0;) {
    if (loop.dim[d].src_stride == 1) {
      std::rotate(loop.dim.begin() + static_cast<std::ptrdiff_t>(d),
                  loop.dim.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                  loop.dim.begin() + static_cast<std::ptrdiff_t>(last));
      return true;
    }
  }
  return false;
}

/// Returns the row length, in bytes, that is passed to is_streamed. That function decides whether a
/// copy uses non-temporal stores. If all rows of the destination consist of complete cache lines,
/// the result is four times the true row length. The reason is that for such rows, non-temporal
/// stores are faster already at a quarter of the usual length. Otherwise the result is the true row
/// length.
inline std::int64_t row_worth(strided_loop const& loop, std::int64_t size, void const* dst) {
  auto const is_lines = [](std::int64_t bytes) { return bytes % line_bytes == 0; };
  std::int64_t const row = loop.dim[static_cast<std::size_t>(loop.rank - 1)].extent * size;
  bool whole = is_lines(row) && is_lines(static_cast<std::int64_t>(
                                    reinterpret_cast<std::uintptr_t>(dst) % line_bytes));
  for (int d = 0; d + 1 < loop.rank; ++d)
    whole = whole && is_lines(loop.dim[static_cast<std::size_t>(d)].dst_stride * size);
  return whole ? row * (stream_row_from / stream_whole_row_from) : row;
}

/// Copies the elements of a canonical loop. `part_of` has the same meaning as in copy_strided.
template <class T>
void copy_loop(strided_loop loop, T const* src, T* dst, std::int64_t part_of) {
  constexpr std::int64_t size = sizeof(T);
  if (loop.empty) return;
  if (loop.rank == 0) {
    std::memcpy(dst, src, sizeof(T));
    return;
  }
  strided_dim const inner = loop.dim[static_cast<std::size_t>(loop.rank - 1)];
  if (inner.src_stride == 1 && inner.dst_stride == 1) {
    if (is_streamed(2 * std::max(loop.elements(), part_of) * size, row_worth(loop, size, dst))) {
      // stream_rows gets all rows of a plane in one call, so that it can prefetch the beginning of
      // the next row while it copies a row.
      for_each_plane_of_rows(loop,
                             [=](strided_dim const& rows, std::int64_t from, std::int64_t to) {
                               stream_rows(src + from, rows.src_stride * size, rows.extent,
                                           inner.extent * size, dst + to, rows.dst_stride * size);
                             });
      return stream_fence();
    }
    if (loop.rank > 1 && inner.extent * size <= short_row_bytes) {
      return for_each_plane_of_rows(
          loop, [=](strided_dim const& rows, std::int64_t from, std::int64_t to) {
            copy_rows(src + from, rows.src_stride * size, rows.extent, inner.extent * size,
                      dst + to, rows.dst_stride * size);
          });
    }
    for_each_outer(loop, 1, [=](std::int64_t from, std::int64_t to) {
      std::memcpy(dst + to, src + from, static_cast<std::size_t>(inner.extent) * sizeof(T));
    });
  } else if (inner.dst_stride == 1 && bring_source_plane_inside(loop)) {
    strided_dim const plane = loop.dim[static_cast<std::size_t>(loop.rank - 2)];
    if (is_streamed_plane<T>(2 * std::max(loop.elements(), part_of) * size, inner.extent,
                             plane.dst_stride)) {
      for_each_outer(loop, 2, [=](std::int64_t from, std::int64_t to) {
        transpose_plane_streamed(src + from, inner.src_stride, plane.extent, inner.extent, dst + to,
                                 plane.dst_stride);
      });
      return stream_fence();
    }
    for_each_outer(loop, 2, [=](std::int64_t from, std::int64_t to) {
      transpose_plane(src + from, inner.src_stride, plane.extent, inner.extent, dst + to,
                      plane.dst_stride);
    });
  } else {
    for_each_outer(loop, 1, [=](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = 0; i < inner.extent; ++i)
        std::memcpy(dst + to + i * inner.dst_stride, src + from + i * inner.src_stride, sizeof(T));
    });
  }
}

/// An unsigned integer type of `Size` bytes, or void if Size is not 2, 4 or 8. Elements are copied
/// as this type, so that all element types of the same size share one compiled function.
template <std::size_t Size>
using copied_as =
    std::conditional_t<Size == 2, std::uint16_t,
                       std::conditional_t<Size == 4, std::uint32_t,
                                          std::conditional_t<Size == 8, std::uint64_t, void>>>;

}  // namespace detail

/// Sets dst[i . dst_strides] = src[i . src_strides] for every multi-index i below the extents,
/// where "." is the dot product. Strides are in elements. If other copies run at about the same
/// time, `part_of` is the number of elements that all copies together write. The larger of
/// `part_of` and the number of elements of this call determines whether the copy uses non-temporal
/// stores.
template <class T>
void copy_strided(int rank, std::int64_t const* extents, T const* src,
                  std::int64_t const* src_strides, T* dst, std::int64_t const* dst_strides,
                  std::int64_t part_of = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  strided_loop const loop = canonical_loop(rank, extents, src_strides, dst_strides);
  using word = detail::copied_as<sizeof(T)>;  // moved by memcpy, copy_n or vector stores
  if constexpr (std::is_void_v<word>) {
    detail::copy_loop(loop, src, dst, part_of);
  } else {
    static_assert(alignof(T) >= alignof(word));
    detail::copy_loop(loop, reinterpret_cast<word const*>(src), reinterpret_cast<word*>(dst),
                      part_of);
  }
}

}  // namespace ashlar::device::host
