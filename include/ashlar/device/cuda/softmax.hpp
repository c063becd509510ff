// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The softmax of the rows of a contiguous rows x cols array, on a CUDA stream. T is float, double
// or bfloat16. `maximum`, `sum` and `dot` are of type accumulation_t<T>.
//
// - softmax_forward and softmax_backward process complete rows.
// - If the columns are split over ranks, each of the other functions computes one phase. Between
//   the phases, the caller all-reduces `maximum`, `sum` and `dot`, as described in
//   kernel/softmax.hpp and kernel/softmax_backward.hpp.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes y = softmax of each row of x. The rows must be complete. y may be x.
template <class T>
void softmax_forward(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols, T* y);

/// Computes dx from dy and y, where y is the result of softmax_forward. The rows must be complete.
/// dx may be dy.
template <class T>
void softmax_backward(cudaStream_t stream, T const* dy, T const* y, std::int64_t rows,
                      std::int64_t cols, T* dx);

/// Computes the maximum of each row over the columns of this rank, or -inf if this rank has no
/// columns.
template <class T>
void row_max(cudaStream_t stream, T const* x, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* maximum);

/// Computes sum[r], the sum of e^(x[r, c] - maximum[r]) over the columns c of this rank. maximum[r]
/// must be the maximum of the complete row.
template <class T>
void row_exp_sum(cudaStream_t stream, T const* x, accumulation_t<T> const* maximum,
                 std::int64_t rows, std::int64_t cols, accumulation_t<T>* sum);

/// Computes y[r, c] = e^(x[r, c] - maximum[r]) / sum[r] in the columns of this rank. `maximum` and
/// `sum` must be the values of complete rows. y may be x.
template <class T>
void softmax_apply(cudaStream_t stream, T const* x, accumulation_t<T> const* maximum,
                   accumulation_t<T> const* sum, std::int64_t rows, std::int64_t cols, T* y);

/// Computes dot[r], the dot product of row r of a and row r of b, over the columns of this rank.
template <class T>
void row_dot(cudaStream_t stream, T const* a, T const* b, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* dot);

/// Computes dx[r, c] = y[r, c] (dy[r, c] - dot[r]) in the columns of this rank. dot[r] must be the
/// dot product of row r of dy and row r of y, over all columns of the row. dx may be dy.
template <class T>
void softmax_backward_apply(cudaStream_t stream, T const* dy, T const* y,
                            accumulation_t<T> const* dot, std::int64_t rows, std::int64_t cols,
                            T* dx);

}  // namespace ashlar::cuda
