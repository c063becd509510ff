// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Multi-head attention on a stream, without storing the scores (kernel/attention.hpp,
// kernel/attention_backward.hpp; arrays: device/attention_extents.hpp). T is float or bfloat16 with head_dim
// up to 256, or double up to 128; log_sum_exp is accumulation_t<T>. Throws ashlar::error beyond.

#include <cstdint>
#include <optional>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/attention_backward.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// out and log_sum_exp from qkv. Without a scale, 1 / sqrt(head_dim).
template <class T>
void attention_forward(cudaStream_t stream, T const* qkv, device::attention_extents const& e,
                       T* out, accumulation_t<T>* log_sum_exp,
                       std::optional<double> scale = std::nullopt);

/// dqkv from dout and what the forward pass read and wrote. Workspace:
/// attention_backward_workspace(e).
template <class T>
void attention_backward(cudaStream_t stream, T const* dout, T const* qkv, T const* out,
                        accumulation_t<T> const* log_sum_exp, device::attention_extents const& e,
                        accumulation_t<T>* workspace, T* dqkv,
                        std::optional<double> scale = std::nullopt);

}  // namespace ashlar::cuda
