// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/strided.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/reduce_strided.hpp>
#include <ashlar/device/cuda/kernel/strided_copy.hpp>
#include <ashlar/device/cuda/strided.hpp>

namespace ashlar::cuda {

void copy_strided_bytes(cudaStream_t stream, std::int64_t size, int rank,
                        std::int64_t const* extents, void const* src,
                        std::int64_t const* src_strides, void* dst,
                        std::int64_t const* dst_strides) {
  copy_strided_bytes(device_launcher(stream), size, rank, extents, src, src_strides, dst,
                     dst_strides);
}

template <class T>
void reduce_strided(cudaStream_t stream, reduction op, int rank, std::int64_t const* extents,
                    std::span<T const* const> sources, std::int64_t const* source_strides, T* dst,
                    std::int64_t const* dst_strides) {
  reduce_strided(device_launcher(stream), op, rank, extents, sources, source_strides, dst,
                 dst_strides);
}

#define ASHLAR_REDUCE(T)                                                                           \
  template void reduce_strided(cudaStream_t, reduction, int, std::int64_t const*,                  \
                               std::span<T const* const>, std::int64_t const*, T*,                 \
                               std::int64_t const*);

ASHLAR_REDUCE(float)
ASHLAR_REDUCE(double)
ASHLAR_REDUCE(bfloat16)
ASHLAR_REDUCE(std::int32_t)
ASHLAR_REDUCE(std::int64_t)

#undef ASHLAR_REDUCE

}  // namespace ashlar::cuda
