// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forward pass of layer norm over the columns of a rows x cols array. layer_norm_forward processes
// complete rows. If the columns are split over ranks, the caller calls the functions of this list
// with the columns of its rank. After layer_norm_sums, the caller all-reduces sum and
// sum_of_squares.
//
//   layer_norm_sums        sum[r] = sum_c x, sum_of_squares[r] = sum_c x^2
//   layer_norm_statistics  mean = sum / C, rstd = 1 / sqrt(sum_of_squares / C - mean^2 + epsilon)
//   layer_norm_apply       y = (x - mean) rstd gamma + beta
//
// C is the number of columns of a complete row. Computing the variance from these two sums takes
// one all-reduce, while summing (x - mean)^2 would take a second one. But the variance from these
// two sums loses accuracy as (mean / deviation)^2 grows. If the mean is 10 times the standard
// deviation, the relative error of the variance in float is about 1e-5. The backward pass is in
// layer_norm_backward.hpp.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/layer_norm.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>

namespace ashlar::device::host {

/// Computes the sum and the sum of squares of each row, over the columns of this rank.
template <class T>
void layer_norm_sums(T const* x, std::int64_t rows, std::int64_t cols, T* sum, T* sum_of_squares) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = x + r * cols;
    sum[r] = reduce_sum<T>(cols, [row](std::int64_t c) { return row[c]; });
    sum_of_squares[r] = reduce_sum<T>(cols, [row](std::int64_t c) { return row[c] * row[c]; });
  }
}

/// Computes the mean and the reciprocal standard deviation of each row. `sum` and `sum_of_squares`
/// are sums over all `total_cols` columns of the complete row. `mean` may be the same array as
/// `sum`, and `rstd` the same array as `sum_of_squares`.
template <class T>
void layer_norm_statistics(T const* sum, T const* sum_of_squares, std::int64_t rows,
                           std::int64_t total_cols, std::type_identity_t<T> epsilon, T* mean,
                           T* rstd) {
  T const share = T(1) / static_cast<T>(total_cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    layer_norm_moments<T> const moments(sum[r], sum_of_squares[r], share, epsilon);
    mean[r] = moments.mean;
    rstd[r] = moments.rstd;
  }
}

/// Computes y = (x - mean) * rstd * gamma + beta on the columns of this rank. y may be x.
template <class T>
void layer_norm_apply(T const* x, T const* mean, T const* rstd, T const* gamma, T const* beta,
                      std::int64_t rows, std::int64_t cols, T* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = x + r * cols;
    T* const out = y + r * cols;
    T const centre = mean[r];
    T const scale = rstd[r];
    ASHLAR_VECTORIZE
    for (std::int64_t c = 0; c < cols; ++c) {
      out[c] = layer_norm_value(row[c], centre, scale, gamma[c], beta[c]);
    }
  }
}

/// Computes the layer norm y of each row. Also computes the mean and the reciprocal standard
/// deviation of each row, which the backward pass needs.
template <class T>
void layer_norm_forward(T const* x, T const* gamma, T const* beta, std::int64_t rows,
                        std::int64_t cols, std::type_identity_t<T> epsilon, T* y, T* mean,
                        T* rstd) {
  if (cols == 0) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = x + r * cols;
    layer_norm_sums(row, 1, cols, mean + r, rstd + r);
    layer_norm_statistics(mean + r, rstd + r, 1, cols, epsilon, mean + r, rstd + r);
    layer_norm_apply(row, mean + r, rstd + r, gamma, beta, 1, cols, y + r * cols);
  }
}

}  // namespace ashlar::device::host
