// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/sum.hpp declares, and instantiates them for every element
// type. These functions launch kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/sum.hpp>
#include <ashlar/device/cuda/sum.hpp>

namespace ashlar::cuda {

template <class T>
void add_sum_of_squares(cudaStream_t stream, T const* x, std::int64_t n, double* workspace,
                        double* sum) {
  add_sum_of_squares(device_launcher(stream), x, n, workspace, sum);
}

template <class T>
void add_sum(cudaStream_t stream, T const* x, std::int64_t n, double* workspace, double* sum) {
  add_sum(device_launcher(stream), x, n, workspace, sum);
}

#define ASHLAR_SUMS(T)                                                                             \
  template void add_sum_of_squares(cudaStream_t, T const*, std::int64_t, double*, double*);        \
  template void add_sum(cudaStream_t, T const*, std::int64_t, double*, double*);

ASHLAR_SUMS(float)
ASHLAR_SUMS(double)
ASHLAR_SUMS(bfloat16)

#undef ASHLAR_SUMS

}  // namespace ashlar::cuda
