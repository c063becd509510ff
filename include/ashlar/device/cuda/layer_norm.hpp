// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layer norm over the columns of a rows x cols array on a stream, forward and backward, whole and in
// pieces for columns that are split over ranks (kernel/layer_norm.hpp, kernel/layer_norm_backward.hpp). T
// is float, double or bfloat16; sums, means, deviations, dgamma and dbeta are accumulation_t<T>.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/kernel/layer_norm_backward.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// y, and mean and rstd of each row, which the backward pass needs; y may be x.
template <class T>
void layer_norm_forward(cudaStream_t stream, T const* x, T const* gamma, T const* beta,
                        std::int64_t rows, std::int64_t cols,
                        std::type_identity_t<accumulation_t<T>> epsilon, T* y,
                        accumulation_t<T>* mean, accumulation_t<T>* rstd);

/// The sums of the local columns of each row, and of their squares.
template <class T>
void layer_norm_sums(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
                     accumulation_t<T>* sum, accumulation_t<T>* sum_of_squares);

/// Mean and reciprocal deviation from sums over all columns; mean may be sum, rstd
/// sum_of_squares.
template <class A>
void layer_norm_statistics(cudaStream_t stream, A const* sum, A const* sum_of_squares,
                           std::int64_t rows, std::int64_t total_cols,
                           std::type_identity_t<A> epsilon, A* mean, A* rstd);

/// y = (x - mean) rstd gamma + beta on the local columns; y may be x.
template <class T>
void layer_norm_apply(cudaStream_t stream, T const* x, accumulation_t<T> const* mean,
                      accumulation_t<T> const* rstd, T const* gamma, T const* beta,
                      std::int64_t rows, std::int64_t cols, T* y);

/// dx, and dgamma and dbeta added to; dx may be dy. Workspace:
/// layer_norm_backward_workspace(rows, cols).
template <class T>
void layer_norm_backward(cudaStream_t stream, T const* dy, T const* x,
                         accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                         T const* gamma, std::int64_t rows, std::int64_t cols,
                         accumulation_t<T>* workspace, T* dx, accumulation_t<T>* dgamma,
                         accumulation_t<T>* dbeta);

/// Sums of g = dy gamma and of g xhat over the local columns.
template <class T>
void layer_norm_backward_sums(cudaStream_t stream, T const* dy, T const* x,
                              accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                              T const* gamma, std::int64_t rows, std::int64_t cols,
                              accumulation_t<T>* sum_g, accumulation_t<T>* sum_g_xhat);

/// dx from the sums over all total_cols columns; dx may be dy.
template <class T>
void layer_norm_backward_apply(cudaStream_t stream, T const* dy, T const* x,
                               accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                               T const* gamma, accumulation_t<T> const* sum_g,
                               accumulation_t<T> const* sum_g_xhat, std::int64_t rows,
                               std::int64_t cols, std::int64_t total_cols, T* dx);

/// dgamma and dbeta of the local columns, added to. Workspace as of layer_norm_backward.
template <class T>
void layer_norm_backward_parameters(cudaStream_t stream, T const* dy, T const* x,
                                    accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                                    std::int64_t rows, std::int64_t cols,
                                    accumulation_t<T>* workspace, accumulation_t<T>* dgamma,
                                    accumulation_t<T>* dbeta);

}  // namespace ashlar::cuda
