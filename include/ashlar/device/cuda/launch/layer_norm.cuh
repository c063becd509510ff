// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/layer_norm.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/kernel/device.cuh>
#include <ashlar/device/cuda/kernel/layer_norm_backward.hpp>
#include <ashlar/device/cuda/layer_norm.hpp>

namespace ashlar::cuda {

template <class T>
void layer_norm_forward(cudaStream_t stream, T const* x, T const* gamma, T const* beta,
                        std::int64_t rows, std::int64_t cols,
                        std::type_identity_t<accumulation_t<T>> epsilon, T* y,
                        accumulation_t<T>* mean, accumulation_t<T>* rstd) {
  layer_norm_forward(device_launcher(stream), x, gamma, beta, rows, cols, epsilon, y, mean, rstd);
}

template <class T>
void layer_norm_backward(cudaStream_t stream, T const* dy, T const* x,
                         accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                         T const* gamma, std::int64_t rows, std::int64_t cols,
                         accumulation_t<T>* workspace, T* dx, accumulation_t<T>* dgamma,
                         accumulation_t<T>* dbeta) {
  layer_norm_backward(device_launcher(stream), dy, x, mean, rstd, gamma, rows, cols, workspace, dx,
                      dgamma, dbeta);
}

template void layer_norm_forward(cudaStream_t, float const*, float const*, float const*,
                                 std::int64_t, std::int64_t, float, float*, float*, float*);
template void layer_norm_backward(cudaStream_t, float const*, float const*, float const*,
                                  float const*, float const*, std::int64_t, std::int64_t, float*,
                                  float*, float*, float*);

template void layer_norm_forward(cudaStream_t, double const*, double const*, double const*,
                                 std::int64_t, std::int64_t, double, double*, double*, double*);
template void layer_norm_backward(cudaStream_t, double const*, double const*, double const*,
                                  double const*, double const*, std::int64_t, std::int64_t, double*,
                                  double*, double*, double*);

template void layer_norm_forward(cudaStream_t, bfloat16 const*, bfloat16 const*, bfloat16 const*,
                                 std::int64_t, std::int64_t, float, bfloat16*, float*, float*);
template void layer_norm_backward(cudaStream_t, bfloat16 const*, bfloat16 const*, float const*,
                                  float const*, bfloat16 const*, std::int64_t, std::int64_t, float*,
                                  bfloat16*, float*, float*);

}  // namespace ashlar::cuda
