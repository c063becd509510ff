// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reduces n source arrays of the same shape, element by element, into a destination array. This is
// the kernel of reduce-scatter and all-reduce. The kernel makes a single pass over the arrays: for
// each block of up to 128 bytes, it reads all sources, accumulates in registers, and writes the
// result.
//
// The sources are reduced from left to right in accumulation_t<T>, and the result is rounded to T
// once. If there is only one source, it is copied. All methods in the list below give the same bits
// for an element, except for a sum that is NaN (combine.hpp). So the result does not depend on
// strides, on the vector width, or on how the arrays are divided into calls.
//
//   innermost dim contiguous      vectors; for a large sum with long rows, non-temporal stores
//                                 (stream_store.hpp), unless the destination is one of the sources
//   otherwise                     single elements

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include <ashlar/device/host/lanes.hpp>
#include <ashlar/device/host/strided_copy.hpp>

namespace ashlar::device::host {

namespace detail {

template <reduction Op, class T>
[[gnu::always_inline]] inline T reduce_one(std::span<T const* const> sources, std::int64_t at) {
  auto sum = static_cast<accumulation_t<T>>(sources[0][at]);
  for (std::size_t s = 1; s < sources.size(); ++s)
    sum = combine<Op>(sum, static_cast<accumulation_t<T>>(sources[s][at]));
  return static_cast<T>(sum);
}

template <reduction Op, class Lanes, class T>
[[gnu::always_inline]] inline Lanes reduce_lanes_of(std::span<T const* const> sources,
                                                    std::int64_t at) {
  Lanes sum;
  sum.load(sources[0] + at);
  for (std::size_t s = 1; s < sources.size(); ++s) sum.template combine<Op>(sources[s] + at);
  return sum;
}

/// Reduces n contiguous elements: dst[i] is the reduction of sources[s][from + i] over all s. If
/// `Streamed`, reduce_run uses non-temporal stores and prefetches the sources. `next` is the index
/// at which the caller's next run of elements begins, and prefetching continues from there.
template <reduction Op, bool Streamed, class T>
void reduce_run(std::span<T const* const> sources, std::int64_t from, std::int64_t n, T* dst,
                [[maybe_unused]] std::int64_t next = 0) {
  using vector = lanes<T, 1>;
  using block = lanes<T, Op == reduction::sum ? 128 / ASHLAR_VECTOR_BYTES : 1>;
  std::int64_t i = 0;
  if constexpr (Streamed) {
    std::int64_t const head = stream_head(dst) / static_cast<std::int64_t>(sizeof(T));
    for (; i < head; ++i) dst[i] = reduce_one<Op>(sources, from + i);
  }
  for (; i + block::count <= n; i += block::count) {
    if constexpr (Streamed) {
      constexpr std::int64_t size = sizeof(T), ahead = stream_ahead / size;
      std::int64_t const soon = i + ahead < n ? from + i + ahead : next + (i + ahead - n);
      for (T const* const source : sources) prefetch(source + soon, block::count * size);
    }
    auto const sum = reduce_lanes_of<Op, block>(sources, from + i);
    if constexpr (Streamed) sum.stream(dst + i);
    else sum.store(dst + i);
  }
  for (; i + vector::count <= n; i += vector::count)
    reduce_lanes_of<Op, vector>(sources, from + i).store(dst + i);
  for (; i < n; ++i) dst[i] = reduce_one<Op>(sources, from + i);
}

template <reduction Op, class T>
void reduce_loop(strided_loop const& loop, std::span<T const* const> sources, T* dst,
                 bool streamed) {
  if (loop.rank == 0) {
    *dst = reduce_one<Op>(sources, 0);
    return;
  }
  strided_dim const inner = loop.dim[static_cast<std::size_t>(loop.rank - 1)];
  if (inner.src_stride != 1 || inner.dst_stride != 1) {
    for_each_outer(loop, 1, [=](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = 0; i < inner.extent; ++i)
        dst[to + i * inner.dst_stride] = reduce_one<Op>(sources, from + i * inner.src_stride);
    });
  } else if (Op == reduction::sum && streamed) {  // Large reductions by max or min are rare.
    for_each_plane_of_rows(loop, [=](strided_dim const& rows, std::int64_t from, std::int64_t to) {
      for (std::int64_t r = 0; r < rows.extent; ++r)
        reduce_run<reduction::sum, true>(sources, from + r * rows.src_stride, inner.extent,
                                         dst + to + r * rows.dst_stride,
                                         from + (r + 1) * rows.src_stride);
    });
    stream_fence();
  } else {
    for_each_outer(loop, 1, [=](std::int64_t from, std::int64_t to) {
      reduce_run<Op, false>(sources, from, inner.extent, dst + to);
    });
  }
}

}  // namespace detail

/// Reduces the sources element by element: dst[i] = ((sources[0][i] op sources[1][i]) op ...) for
/// every multi-index i below the extents. All sources have the same strides. combine.hpp defines
/// max and min of NaNs. dst may be one of the sources if dst_strides equals source_strides. Other
/// overlaps are not allowed. Throws std::invalid_argument if there is no source or if there are
/// more than 8 dims.
template <class T>
void reduce_strided(reduction op, int rank, std::int64_t const* extents,
                    std::span<T const* const> sources, std::int64_t const* source_strides, T* dst,
                    std::int64_t const* dst_strides) {
  constexpr std::int64_t size = sizeof(T);
  if (sources.empty())
    throw std::invalid_argument("reduce_strided: there is no source. Give at least one.");
  strided_loop const loop = canonical_loop(rank, extents, source_strides, dst_strides);
  if (loop.empty) return;
  bool in_place = false;
  for (T const* const source : sources) in_place = in_place || source == dst;
  if (sources.size() == 1) {
    if (!in_place) copy_strided(rank, extents, sources[0], source_strides, dst, dst_strides);
    return;
  }
  auto const arrays = static_cast<std::int64_t>(sources.size()) + 1;
  bool const streamed = !in_place &&
                        is_streamed(arrays * loop.elements() * size, loop.run() * size);
  switch (op) {
    case reduction::sum: return detail::reduce_loop<reduction::sum>(loop, sources, dst, streamed);
    case reduction::max: return detail::reduce_loop<reduction::max>(loop, sources, dst, streamed);
    case reduction::min: return detail::reduce_loop<reduction::min>(loop, sources, dst, streamed);
  }
}

}  // namespace ashlar::device::host
