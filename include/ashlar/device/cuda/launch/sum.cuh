// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The function of sum.hpp for each type, on the device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/sum.hpp>
#include <ashlar/device/cuda/sum.hpp>

namespace ashlar::cuda {

template <class T>
void sum_of_squares(cudaStream_t stream, T const* x, std::int64_t n, double* workspace,
                    double* sum) {
  sum_of_squares(device_launcher(stream), x, n, workspace, sum);
}

template void sum_of_squares(cudaStream_t, float const*, std::int64_t, double*, double*);
template void sum_of_squares(cudaStream_t, double const*, std::int64_t, double*, double*);
template void sum_of_squares(cudaStream_t, bfloat16 const*, std::int64_t, double*, double*);

}  // namespace ashlar::cuda
