// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/cross_entropy.hpp declares, and instantiates them for
// every element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/cross_entropy.hpp>
#include <ashlar/device/cuda/kernel/cross_entropy.hpp>
#include <ashlar/device/cuda/kernel/device.cuh>

namespace ashlar::cuda {

template <class T>
void cross_entropy_target_logit(cudaStream_t stream, T const* logits, std::int32_t const* targets,
                                std::int64_t rows, std::int64_t cols, std::int64_t first_column,
                                accumulation_t<T>* target_logit) {
  cross_entropy_target_logit(device_launcher(stream), logits, targets, rows, cols, first_column,
                             target_logit);
}

template <class T>
void cross_entropy_expected_logit(
    cudaStream_t stream, T const* logits, std::int32_t const* targets, std::int64_t rows,
    std::int64_t cols, std::int64_t first_column,
    std::type_identity_t<device::target_distribution<accumulation_t<T>>> q,
    accumulation_t<T>* expected_logit) {
  cross_entropy_expected_logit(device_launcher(stream), logits, targets, rows, cols, first_column,
                               q, expected_logit);
}

template <class A>
void cross_entropy_loss(cudaStream_t stream, A const* maximum, A const* sum, A const* target_logit,
                        std::int32_t const* targets, std::int64_t rows, A* loss) {
  cross_entropy_loss(device_launcher(stream), maximum, sum, target_logit, targets, rows, loss);
}

template <class T>
void cross_entropy_gradient(
    cudaStream_t stream, T const* logits, std::int32_t const* targets,
    accumulation_t<T> const* maximum, accumulation_t<T> const* sum, std::int64_t rows,
    std::int64_t cols, std::int64_t first_column, std::type_identity_t<accumulation_t<T>> scale,
    T* gradient, std::type_identity_t<device::target_distribution<accumulation_t<T>>> q) {
  cross_entropy_gradient(device_launcher(stream), logits, targets, maximum, sum, rows, cols,
                         first_column, scale, gradient, q);
}

template void cross_entropy_target_logit(cudaStream_t, float const*, std::int32_t const*,
                                         std::int64_t, std::int64_t, std::int64_t, float*);
template void cross_entropy_expected_logit(cudaStream_t, float const*, std::int32_t const*,
                                           std::int64_t, std::int64_t, std::int64_t,
                                           device::target_distribution<float>, float*);
template void cross_entropy_loss(cudaStream_t, float const*, float const*, float const*,
                                 std::int32_t const*, std::int64_t, float*);
template void cross_entropy_gradient(cudaStream_t, float const*, std::int32_t const*, float const*,
                                     float const*, std::int64_t, std::int64_t, std::int64_t, float,
                                     float*, device::target_distribution<float>);

template void cross_entropy_target_logit(cudaStream_t, double const*, std::int32_t const*,
                                         std::int64_t, std::int64_t, std::int64_t, double*);
template void cross_entropy_expected_logit(cudaStream_t, double const*, std::int32_t const*,
                                           std::int64_t, std::int64_t, std::int64_t,
                                           device::target_distribution<double>, double*);
template void cross_entropy_loss(cudaStream_t, double const*, double const*, double const*,
                                 std::int32_t const*, std::int64_t, double*);
template void cross_entropy_gradient(cudaStream_t, double const*, std::int32_t const*,
                                     double const*, double const*, std::int64_t, std::int64_t,
                                     std::int64_t, double, double*,
                                     device::target_distribution<double>);

template void cross_entropy_target_logit(cudaStream_t, bfloat16 const*, std::int32_t const*,
                                         std::int64_t, std::int64_t, std::int64_t, float*);
template void cross_entropy_expected_logit(cudaStream_t, bfloat16 const*, std::int32_t const*,
                                           std::int64_t, std::int64_t, std::int64_t,
                                           device::target_distribution<float>, float*);
template void cross_entropy_gradient(cudaStream_t, bfloat16 const*, std::int32_t const*,
                                     float const*, float const*, std::int64_t, std::int64_t,
                                     std::int64_t, float, bfloat16*,
                                     device::target_distribution<float>);

}  // namespace ashlar::cuda
