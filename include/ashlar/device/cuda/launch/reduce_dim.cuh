// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the function that device/cuda/reduce_dim.hpp declares, and instantiates it for every
// element type. This function launches kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/reduce_dim.hpp>
#include <ashlar/device/cuda/reduce_dim.hpp>

namespace ashlar::cuda {

template <class T>
void reduce_dim(cudaStream_t stream, reduction op, T const* x, std::int64_t outer,
                std::int64_t extent, std::int64_t inner, T* y) {
  reduce_dim(device_launcher(stream), op, x, outer, extent, inner, y);
}

#define ASHLAR_REDUCE_DIM(T)                                                                       \
  template void reduce_dim(cudaStream_t, reduction, T const*, std::int64_t, std::int64_t,          \
                           std::int64_t, T*);

ASHLAR_REDUCE_DIM(float)
ASHLAR_REDUCE_DIM(double)
ASHLAR_REDUCE_DIM(bfloat16)
ASHLAR_REDUCE_DIM(std::int32_t)
ASHLAR_REDUCE_DIM(std::int64_t)

#undef ASHLAR_REDUCE_DIM

}  // namespace ashlar::cuda
