// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The softmax of the rows of a contiguous rows x cols array, on a CUDA stream. T is float, double
// or bfloat16. `maximum` and `sum` are of type accumulation_t<T>.
//
// - softmax_forward and softmax_backward process complete rows.
// - row_max and row_exp_sum are the first phases of a cross-entropy, whose columns may be split
//   over ranks (cross_entropy.hpp).

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

}  // namespace ashlar::cuda
