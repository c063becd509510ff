// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layer norm over the columns of a rows x cols array, forward and backward, on a CUDA stream. T is
// float, double or bfloat16. Sums, means, deviations, dgamma and dbeta are of type
// accumulation_t<T>.
//
// - layer_norm_forward and layer_norm_backward process complete rows.
// - If the columns are split over ranks, each of the other functions computes one phase. The
//   caller all-reduces the sums between the phases, as described in device/host/layer_norm.hpp
//   and device/host/layer_norm_backward.hpp.

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

/// Computes the sum and the sum of squares of each row, over the columns of this rank.
template <class T>
void layer_norm_sums(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
                     accumulation_t<T>* sum, accumulation_t<T>* sum_of_squares);

/// Computes the mean and the reciprocal standard deviation of each row. `sum` and `sum_of_squares`
/// are sums over all `total_cols` columns of the complete row. `mean` may be the same array as
/// `sum`, and `rstd` the same array as `sum_of_squares`.
template <class A>
void layer_norm_statistics(cudaStream_t stream, A const* sum, A const* sum_of_squares,
                           std::int64_t rows, std::int64_t total_cols,
                           std::type_identity_t<A> epsilon, A* mean, A* rstd);

/// Computes y = (x - mean) rstd gamma + beta on the columns of this rank. y may be x.
template <class T>
void layer_norm_apply(cudaStream_t stream, T const* x, accumulation_t<T> const* mean,
                      accumulation_t<T> const* rstd, T const* gamma, T const* beta,
                      std::int64_t rows, std::int64_t cols, T* y);

/// Computes dx, and adds the gradients of gamma and beta to dgamma and dbeta. The rows must be
/// complete. The workspace has layer_norm_backward_workspace(rows, cols) elements. dx may be dy.
template <class T>
void layer_norm_backward(cudaStream_t stream, T const* dy, T const* x,
                         accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                         T const* gamma, std::int64_t rows, std::int64_t cols,
                         accumulation_t<T>* workspace, T* dx, accumulation_t<T>* dgamma,
                         accumulation_t<T>* dbeta);

/// Computes, for each row, the sum of g = dy gamma and the sum of g xhat over the columns of this
/// rank. xhat is (x - mean) rstd.
template <class T>
void layer_norm_backward_sums(cudaStream_t stream, T const* dy, T const* x,
                              accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                              T const* gamma, std::int64_t rows, std::int64_t cols,
                              accumulation_t<T>* sum_g, accumulation_t<T>* sum_g_xhat);

/// Computes dx in the columns of this rank. sum_g and sum_g_xhat are the sums over all `total_cols`
/// columns of the complete row. dx may be dy.
template <class T>
void layer_norm_backward_apply(cudaStream_t stream, T const* dy, T const* x,
                               accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                               T const* gamma, accumulation_t<T> const* sum_g,
                               accumulation_t<T> const* sum_g_xhat, std::int64_t rows,
                               std::int64_t cols, std::int64_t total_cols, T* dx);

/// Adds the gradients of gamma and beta to dgamma and dbeta. The gradients are summed over the rows
/// of this rank. The workspace has layer_norm_backward_workspace(rows, cols) elements.
template <class T>
void layer_norm_backward_parameters(cudaStream_t stream, T const* dy, T const* x,
                                    accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                                    std::int64_t rows, std::int64_t cols,
                                    accumulation_t<T>* workspace, accumulation_t<T>* dgamma,
                                    accumulation_t<T>* dbeta);

}  // namespace ashlar::cuda
