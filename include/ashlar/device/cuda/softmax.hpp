// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The softmax of rows on a stream: whole, and in pieces for rows that are split over ranks, between
// which the caller reduces maximum, sum and dot (kernel/softmax.hpp). T is float, double or bfloat16;
// what is one number for each row is accumulation_t<T>. Arrays are rows x cols, contiguous.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// y = softmax of each row of x; y may be x.
template <class T>
void softmax_forward(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols, T* y);

/// dx of each row, from the result y of the forward pass and dy; dx may be dy.
template <class T>
void softmax_backward(cudaStream_t stream, T const* dy, T const* y, std::int64_t rows,
                      std::int64_t cols, T* dx);

/// maximum[r] = max_c x[r, c]; -inf for no columns.
template <class T>
void row_max(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* maximum);

/// sum[r] = sum_c e^(x[r, c] - maximum[r]).
template <class T>
void row_exp_sum(cudaStream_t stream, T const* x, accumulation_t<T> const* maximum,
                 std::int64_t rows, std::int64_t cols, accumulation_t<T>* sum);

/// y[r, c] = e^(x[r, c] - maximum[r]) / sum[r]; y may be x.
template <class T>
void softmax_apply(cudaStream_t stream, T const* x, accumulation_t<T> const* maximum,
                   accumulation_t<T> const* sum, std::int64_t rows, std::int64_t cols, T* y);

/// dot[r] = sum_c a[r, c] b[r, c].
template <class T>
void row_dot(cudaStream_t stream, T const* a, T const* b, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* dot);

/// dx[r, c] = y[r, c] (dy[r, c] - dot[r]), dot of (dy, y); dx may be dy.
template <class T>
void softmax_backward_apply(cudaStream_t stream, T const* dy, T const* y,
                            accumulation_t<T> const* dot, std::int64_t rows, std::int64_t cols,
                            T* dx);

}  // namespace ashlar::cuda
