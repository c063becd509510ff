// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies and reductions of strided N-dimensional blocks, on a CUDA stream (kernel/strided_copy.hpp,
// kernel/reduce_strided.hpp). The arguments are the same as in device/host/strided_copy.hpp and
// device/host/reduce_strided.hpp, and the results are bitwise equal to theirs. Strides are in
// elements. The rank, which is the number of dims, is at most 8.

#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/reduce_strided.hpp>

namespace ashlar::cuda {

/// Sets dst[i . dst_strides] = src[i . src_strides] for every multi-index i below the extents,
/// where "." is the dot product. Strides are in elements. `size` is the number of bytes of an
/// element: 1, 2, 4 or 8. Elements are aligned to their size. The arrays must not overlap. Throws
/// std::invalid_argument if `size` is another number or if there are more than 8 dims.
void copy_strided_bytes(cudaStream_t stream, std::int64_t size, int rank,
                        std::int64_t const* extents, void const* src,
                        std::int64_t const* src_strides, void* dst,
                        std::int64_t const* dst_strides);

template <class T>
void copy_strided(cudaStream_t stream, int rank, std::int64_t const* extents, T const* src,
                  std::int64_t const* src_strides, T* dst, std::int64_t const* dst_strides) {
  static_assert(is_copied_size(sizeof(T)), "elements must have 1, 2, 4 or 8 bytes");
  copy_strided_bytes(stream, sizeof(T), rank, extents, src, src_strides, dst, dst_strides);
}

/// Computes dst[i] = ((sources[0][i] op sources[1][i]) op ...) for every multi-index i below the
/// extents, rounded to T once. T is float, double, bfloat16, std::int32_t or std::int64_t. All
/// sources have the strides `source_strides`, in elements. dst may be one of the sources if
/// dst_strides equals source_strides. Throws std::invalid_argument if there is no source, or if
/// there are more than most_sources sources or more than 8 dims.
template <class T>
void reduce_strided(cudaStream_t stream, reduction op, int rank, std::int64_t const* extents,
                    std::span<T const* const> sources, std::int64_t const* source_strides, T* dst,
                    std::int64_t const* dst_strides);

}  // namespace ashlar::cuda
