// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Multi-head attention on a CUDA stream, without storing the scores. device/attention_extents.hpp
// describes the arrays. kernel/attention.hpp and kernel/attention_backward.hpp have the kernels. T
// is float or bfloat16 with head_dim up to 256, or double with head_dim up to 128. The functions
// throw ashlar::error for a larger head_dim. log_sum_exp is of type accumulation_t<T>.

#include <cstdint>
#include <optional>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/attention_backward.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes out and log_sum_exp from qkv. The default scale is 1 / sqrt(head_dim).
template <class T>
void attention_forward(cudaStream_t stream, T const* qkv, device::attention_extents const& e,
                       T* out, accumulation_t<T>* log_sum_exp,
                       std::optional<double> scale = std::nullopt);

/// Computes dqkv, the gradient of qkv. `dout` is the gradient of `out`. `qkv` is the input of the
/// forward pass, and `out` and `log_sum_exp` are its outputs. The workspace has
/// attention_backward_workspace(e) elements.
template <class T>
void attention_backward(cudaStream_t stream, T const* dout, T const* qkv, T const* out,
                        accumulation_t<T> const* log_sum_exp, device::attention_extents const& e,
                        accumulation_t<T>* workspace, T* dqkv,
                        std::optional<double> scale = std::nullopt);

}  // namespace ashlar::cuda
