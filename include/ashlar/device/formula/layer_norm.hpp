// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The formulas of layer norm for a row x of C columns, shared by the host's loops and the device's
// kernels. xhat = (x - mean) rstd is the normalized row, y is the result, and g = dy gamma:
//
//   layer_norm_moments     mean = sum / C, rstd = 1 / sqrt(sum of squares / C - mean^2 + epsilon)
//   layer_norm_value       y = xhat gamma + beta
//   layer_norm_gradient    dx = rstd (g - (sum of g) / C - xhat (sum of g xhat) / C)
//
// The caller decides in which type and order the sums are accumulated.

#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>

namespace ashlar::device {

/// The mean of a row, and the reciprocal of its standard deviation (rstd). The constructor takes
/// the row's sum, its sum of squares, and `share`, which is 1 / the number of columns.
template <class T>
struct layer_norm_moments {
  T mean;
  T rstd;

  ASHLAR_HD layer_norm_moments(T sum, T sum_of_squares, T share, T epsilon) : mean(sum * share) {
    T const variance = sum_of_squares * share - mean * mean;
    // Rounding can make the variance of a constant row negative. If the variance is NaN, this
    // comparison keeps the NaN, while std::max(0, variance) would return 0.
    rstd = T(1) / std::sqrt((variance < T(0) ? T(0) : variance) + epsilon);
  }
};

template <class T>
[[gnu::always_inline]] ASHLAR_HD inline T layer_norm_value(T x, T mean, T rstd, T gamma, T beta) {
  return (x - mean) * rstd * gamma + beta;
}

/// Computes the gradient dx of each element of a row: rstd * g - (slope * (x - mean) + offset).
/// Here g = dy gamma. The constructor computes slope and offset, which are the same for all
/// elements of the row.
template <class T>
struct layer_norm_gradient {
  T mean;
  T rstd;
  T slope;
  T offset;

  ASHLAR_HD layer_norm_gradient(T row_mean, T row_rstd, T sum_g, T sum_g_xhat, T share)
      : mean(row_mean), rstd(row_rstd), slope(rstd * rstd * sum_g_xhat * share),
        offset(rstd * sum_g * share) {}

  [[gnu::always_inline]] ASHLAR_HD T operator()(T dy, T x, T gamma) const {
    return rstd * gamma * dy - (slope * (x - mean) + offset);
  }
};

}  // namespace ashlar::device
