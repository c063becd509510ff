// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the functions that device/cuda/attention.hpp declares, and instantiates them for every
// element type. These functions launch kernels on a device.

#include <ashlar/device/cuda/attention.hpp>
#include <ashlar/device/cuda/kernel/attention_backward.hpp>
#include <ashlar/device/cuda/kernel/device.cuh>

namespace ashlar::cuda {

template <class T>
void attention_forward(cudaStream_t stream, T const* qkv, device::attention_extents const& e,
                       T* out, accumulation_t<T>* log_sum_exp, std::optional<double> scale) {
  attention_forward(device_launcher(stream), qkv, e, out, log_sum_exp, scale);
}

template <class T>
void attention_backward(cudaStream_t stream, T const* dout, T const* qkv, T const* out,
                        accumulation_t<T> const* log_sum_exp, device::attention_extents const& e,
                        accumulation_t<T>* workspace, T* dqkv, std::optional<double> scale) {
  attention_backward(device_launcher(stream), dout, qkv, out, log_sum_exp, e, workspace, dqkv,
                     scale);
}

template void attention_forward(cudaStream_t, float const*, device::attention_extents const&,
                                float*, float*, std::optional<double>);
template void attention_backward(cudaStream_t, float const*, float const*, float const*,
                                 float const*, device::attention_extents const&, float*, float*,
                                 std::optional<double>);

template void attention_forward(cudaStream_t, double const*, device::attention_extents const&,
                                double*, double*, std::optional<double>);
template void attention_backward(cudaStream_t, double const*, double const*, double const*,
                                 double const*, device::attention_extents const&, double*, double*,
                                 std::optional<double>);

template void attention_forward(cudaStream_t, bfloat16 const*, device::attention_extents const&,
                                bfloat16*, float*, std::optional<double>);
template void attention_backward(cudaStream_t, bfloat16 const*, bfloat16 const*, bfloat16 const*,
                                 float const*, device::attention_extents const&, float*, bfloat16*,
                                 std::optional<double>);

}  // namespace ashlar::cuda
