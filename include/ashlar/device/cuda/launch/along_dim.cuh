// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/along_dim.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/along_dim.hpp>
#include <ashlar/device/cuda/kernel/along_dim.hpp>
#include <ashlar/device/cuda/kernel/device.cuh>

namespace ashlar::cuda {

template <class T>
void index_of_extremum(cudaStream_t stream, reduction op, T const* x, std::int64_t outer,
                       std::int64_t extent, std::int64_t inner, std::int32_t* y) {
  index_of_extremum(device_launcher(stream), op, x, outer, extent, inner, y);
}

template <class T>
void cumulative_sum(cudaStream_t stream, T const* x, std::int64_t outer, std::int64_t extent,
                    std::int64_t inner, bool from_end, T* y) {
  cumulative_sum(device_launcher(stream), x, outer, extent, inner, from_end, y);
}

#define ASHLAR_ALONG_DIM(T)                                                                        \
  template void index_of_extremum(cudaStream_t, reduction, T const*, std::int64_t, std::int64_t,   \
                                  std::int64_t, std::int32_t*);                                    \
  template void cumulative_sum(cudaStream_t, T const*, std::int64_t, std::int64_t, std::int64_t,   \
                               bool, T*);

ASHLAR_ALONG_DIM(float)
ASHLAR_ALONG_DIM(double)
ASHLAR_ALONG_DIM(bfloat16)
ASHLAR_ALONG_DIM(std::int32_t)
ASHLAR_ALONG_DIM(std::int64_t)

#undef ASHLAR_ALONG_DIM

}  // namespace ashlar::cuda
