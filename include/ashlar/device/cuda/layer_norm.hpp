// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layer norm over the rows of a rows x cols array, forward and backward, on a CUDA stream. T is
// float, double or bfloat16. Sums, means, deviations, dgamma and dbeta are of type
// accumulation_t<T>.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/layer_norm_backward.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes the layer norm y of each row. Also computes the mean and the reciprocal standard
/// deviation (rstd) of each row, which the backward pass needs. y may be x.
template <class T>
void layer_norm_forward(cudaStream_t stream, T const* x, T const* gamma, T const* beta,
                        std::int64_t rows, std::int64_t cols,
                        std::type_identity_t<accumulation_t<T>> epsilon, T* y,
                        accumulation_t<T>* mean, accumulation_t<T>* rstd);

/// Computes dx, and adds the gradients of gamma and beta to dgamma and dbeta. `mean` and `rstd` are
/// the results of the forward pass. The workspace has layer_norm_backward_workspace(rows, cols)
/// elements. dx may be dy.
template <class T>
void layer_norm_backward(cudaStream_t stream, T const* dy, T const* x,
                         accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                         T const* gamma, std::int64_t rows, std::int64_t cols,
                         accumulation_t<T>* workspace, T* dx, accumulation_t<T>* dgamma,
                         accumulation_t<T>* dbeta);

}  // namespace ashlar::cuda
