// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/columns.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/columns.hpp>
#include <ashlar/device/cuda/kernel/columns.hpp>
#include <ashlar/device/cuda/kernel/device.cuh>

namespace ashlar::cuda {

template <class T>
void add_column_sums(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
                     accumulation_t<T>* workspace, accumulation_t<T>* sum) {
  add_column_sums(device_launcher(stream), x, rows, cols, workspace, sum);
}

template void add_column_sums(cudaStream_t, float const*, std::int64_t, std::int64_t, float*,
                              float*);

template void add_column_sums(cudaStream_t, double const*, std::int64_t, std::int64_t, double*,
                              double*);

template void add_column_sums(cudaStream_t, bfloat16 const*, std::int64_t, std::int64_t, float*,
                              float*);

}  // namespace ashlar::cuda
