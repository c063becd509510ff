// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/softmax.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/softmax.hpp>
#include <ashlar/device/cuda/kernel/softmax_backward.hpp>
#include <ashlar/device/cuda/softmax.hpp>

namespace ashlar::cuda {

template <class T>
void softmax_forward(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols, T* y) {
  softmax_forward(device_launcher(stream), x, rows, cols, y);
}

template <class T>
void softmax_backward(cudaStream_t stream, T const* dy, T const* y, std::int64_t rows,
                      std::int64_t cols, T* dx) {
  softmax_backward(device_launcher(stream), dy, y, rows, cols, dx);
}

template <class T>
void row_max(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* maximum) {
  row_max(device_launcher(stream), x, rows, cols, maximum);
}

template <class T>
void row_exp_sum(cudaStream_t stream, T const* x, accumulation_t<T> const* maximum,
                 std::int64_t rows, std::int64_t cols, accumulation_t<T>* sum) {
  row_exp_sum(device_launcher(stream), x, maximum, rows, cols, sum);
}

template void softmax_forward(cudaStream_t, float const*, std::int64_t, std::int64_t, float*);
template void softmax_backward(cudaStream_t, float const*, float const*, std::int64_t, std::int64_t,
                               float*);
template void row_max(cudaStream_t, float const*, std::int64_t, std::int64_t, float*);
template void row_exp_sum(cudaStream_t, float const*, float const*, std::int64_t, std::int64_t,
                          float*);

template void softmax_forward(cudaStream_t, double const*, std::int64_t, std::int64_t, double*);
template void softmax_backward(cudaStream_t, double const*, double const*, std::int64_t,
                               std::int64_t, double*);
template void row_max(cudaStream_t, double const*, std::int64_t, std::int64_t, double*);
template void row_exp_sum(cudaStream_t, double const*, double const*, std::int64_t, std::int64_t,
                          double*);

template void softmax_forward(cudaStream_t, bfloat16 const*, std::int64_t, std::int64_t, bfloat16*);
template void softmax_backward(cudaStream_t, bfloat16 const*, bfloat16 const*, std::int64_t,
                               std::int64_t, bfloat16*);
template void row_max(cudaStream_t, bfloat16 const*, std::int64_t, std::int64_t, float*);
template void row_exp_sum(cudaStream_t, bfloat16 const*, float const*, std::int64_t, std::int64_t,
                          float*);

}  // namespace ashlar::cuda
