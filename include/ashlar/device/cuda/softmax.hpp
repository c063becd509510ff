// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The softmax of the rows of an array, on a stream. There are functions for complete rows, and
// functions for the single phases, for rows that are split over ranks: between the phases the
// caller all-reduces maximum, sum and dot (kernel/softmax.hpp). T is float, double or bfloat16.
// Values that exist once per row are of type accumulation_t<T>. Arrays are contiguous, of shape
// rows x cols.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes y = softmax of each row of x; y may be x.
template <class T>
void softmax_forward(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols, T* y);

/// Computes dx of each row from dy and the result y of the forward pass; dx may be dy.
template <class T>
void softmax_backward(cudaStream_t stream, T const* dy, T const* y, std::int64_t rows,
                      std::int64_t cols, T* dx);

/// Computes maximum[r] = max_c x[r, c], which is -inf if there are no columns.
template <class T>
void row_max(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* maximum);

/// Computes sum[r] = sum_c e^(x[r, c] - maximum[r]).
template <class T>
void row_exp_sum(cudaStream_t stream, T const* x, accumulation_t<T> const* maximum,
                 std::int64_t rows, std::int64_t cols, accumulation_t<T>* sum);

/// Computes y[r, c] = e^(x[r, c] - maximum[r]) / sum[r]; y may be x.
template <class T>
void softmax_apply(cudaStream_t stream, T const* x, accumulation_t<T> const* maximum,
                   accumulation_t<T> const* sum, std::int64_t rows, std::int64_t cols, T* y);

/// Computes dot[r] = sum_c a[r, c] b[r, c].
template <class T>
void row_dot(cudaStream_t stream, T const* a, T const* b, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* dot);

/// Computes dx[r, c] = y[r, c] (dy[r, c] - dot[r]), where dot is row_dot of dy and y; dx may be dy.
template <class T>
void softmax_backward_apply(cudaStream_t stream, T const* dy, T const* y,
                            accumulation_t<T> const* dot, std::int64_t rows, std::int64_t cols,
                            T* dx);

}  // namespace ashlar::cuda
