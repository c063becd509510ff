// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The formulas of layer norm for a row x of C columns, shared by the host's loops and the device's
// kernels. xhat = (x - mean) rstd is the normalized row, y is the result, and g = dy gamma:
//
//   layer_norm_moments     mean = x[0] + s / C, rstd = 1 / sqrt(q / C - (s / C)^2 + epsilon), where
//                          s is the sum of x - x[0], and q the sum of (x - x[0])^2
//   layer_norm_value       y = xhat gamma + beta
//   layer_norm_gradient    dx = rstd (g - (sum of g) / C - xhat (sum of g xhat) / C)
//
// The squares are those of differences from the row's first element. With squares of x itself, the
// variance of a row with a large mean would be the difference of two large, rounded numbers. Since
// x[0] is in the row, (x[0] - mean)^2 is at most C times the variance, so the relative error of the
// variance is of the order of C roundings, whatever the mean.
//
// The caller decides in which type and order the sums are accumulated.

#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>

namespace ashlar::device {

/// The mean of a row, and the reciprocal of its standard deviation (rstd). The constructor takes
/// the row's first element, the sum of the differences from it, the sum of their squares, and
/// `share`, which is 1 / the number of columns.
template <class T>
struct layer_norm_moments {
  T mean;
  T rstd;

  ASHLAR_HD layer_norm_moments(T first, T sum, T sum_of_squares, T share, T epsilon)
      : mean(first + sum * share) {
    T const variance = sum_of_squares * share - (sum * share) * (sum * share);
    // Rounding can make a small variance negative. If the variance is NaN, this comparison keeps
    // the NaN, while std::max(0, variance) would return 0.
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
