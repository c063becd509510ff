// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax of each row of a rows x cols array. softmax_forward and softmax_backward process complete
// rows. If the columns are split over ranks, the caller calls the functions of this list with the
// columns of its rank. The caller all-reduces the results `maximum`, `sum` and `dot` over these
// ranks before it calls the next function:
//
//   function                 result                                            all-reduce by
//   row_max                  maximum[r] = max_c x[r, c], -inf if no columns    max
//   row_exponentials         y[r, c] = e^(x[r, c] - maximum[r])
//                            sum[r] = sum_c y[r, c]                            sum
//   row_divide               y[r, c] /= sum[r]
//   row_dot                  dot[r] = sum_c dy[r, c] y[r, c]                   sum
//   softmax_backward_apply   dx[r, c] = y[r, c] (dy[r, c] - dot[r])
//
// Arrays are contiguous. y may be x, and dx may be dy.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device::host {

/// Computes the maximum of each row over the columns of this rank.
template <class T>
void row_max(T const* x, std::int64_t rows, std::int64_t cols, T* maximum) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = x + r * cols;
    maximum[r] = reduce_max<T>(cols, [row](std::int64_t c) { return row[c]; });
  }
}

/// Computes y = e^(x - maximum), and the sum of each row of y over the columns of this rank.
/// maximum[r] must be the maximum of the complete row.
template <class T>
void row_exponentials(T const* x, T const* maximum, std::int64_t rows, std::int64_t cols, T* y,
                      T* sum) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = x + r * cols;
    T* const out = y + r * cols;
    sum[r] = reduce_sum<T>(cols, [row, out, shift = maximum[r]](std::int64_t c) {
      T const value = math::exp(row[c] - shift);
      out[c] = value;
      return value;
    });
  }
}

/// Multiplies row r of y by 1 / sum[r], where sum[r] must be the sum of the complete row.
template <class T>
void row_divide(T const* sum, std::int64_t rows, std::int64_t cols, T* y) {
  for (std::int64_t r = 0; r < rows; ++r) scale_inplace(T(1) / sum[r], cols, y + r * cols);
}

/// Computes dot[r], the dot product of row r of a and row r of b, over the columns of this rank.
template <class T>
void row_dot(T const* a, T const* b, std::int64_t rows, std::int64_t cols, T* dot) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const left = a + r * cols;
    T const* const right = b + r * cols;
    dot[r] = reduce_sum<T>(cols, [left, right](std::int64_t c) { return left[c] * right[c]; });
  }
}

/// Computes dx = y (dy - dot) in the columns of this rank. dot[r] must be the dot product of row r
/// of dy and row r of y, over all columns of the row.
template <class T>
void softmax_backward_apply(T const* dy, T const* y, T const* dot, std::int64_t rows,
                            std::int64_t cols, T* dx) {
  for (std::int64_t r = 0; r < rows; ++r) {
    map(dy + r * cols, y + r * cols, cols, dx + r * cols,
        [shift = dot[r]](T gradient, T probability) { return probability * (gradient - shift); });
  }
}

/// Computes y = softmax of each row of x. The rows must be complete.
template <class T>
void softmax_forward(T const* x, std::int64_t rows, std::int64_t cols, T* y) {
  // One row at a time goes through all three steps, so that the row stays in the cache.
  for (std::int64_t r = 0; r < rows; ++r) {
    T maximum;
    T sum;
    row_max(x + r * cols, 1, cols, &maximum);
    row_exponentials(x + r * cols, &maximum, 1, cols, y + r * cols, &sum);
    row_divide(&sum, 1, cols, y + r * cols);
  }
}

/// Computes dx from dy and the result y of softmax_forward. The rows must be complete.
template <class T>
void softmax_backward(T const* dy, T const* y, std::int64_t rows, std::int64_t cols, T* dx) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T dot;
    row_dot(dy + r * cols, y + r * cols, 1, cols, &dot);
    softmax_backward_apply(dy + r * cols, y + r * cols, &dot, 1, cols, dx + r * cols);
  }
}

}  // namespace ashlar::device::host
