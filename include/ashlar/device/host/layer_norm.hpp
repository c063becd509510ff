// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forward pass of layer norm over the rows of a rows x cols array. Group norm calls moments_of too.
// The formulas are in formula/layer_norm.hpp. The backward pass is in layer_norm_backward.hpp.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/layer_norm.hpp>
#include <ashlar/device/host/reduce.hpp>

namespace ashlar::device::host {

/// Returns the mean and the reciprocal standard deviation of `count` numbers. `count` is at least
/// 1.
template <class T>
layer_norm_moments<T> moments_of(T const* x, std::int64_t count, T epsilon) {
  T const first = x[0];
  T const sum = reduce_sum<T>(count, [=](std::int64_t c) { return x[c] - first; });
  T const sum_of_squares = reduce_sum<T>(
      count, [=](std::int64_t c) { return (x[c] - first) * (x[c] - first); });
  return {first, sum, sum_of_squares, T(1) / static_cast<T>(count), epsilon};
}

/// Computes the layer norm y of each row. Also computes the mean and the reciprocal standard
/// deviation of each row, which the backward pass needs. y may be x.
template <class T>
void layer_norm_forward(T const* x, T const* gamma, T const* beta, std::int64_t rows,
                        std::int64_t cols, std::type_identity_t<T> epsilon, T* y, T* mean,
                        T* rstd) {
  if (cols == 0) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = x + r * cols;
    T* const out = y + r * cols;
    auto const moments = moments_of(row, cols, epsilon);
    mean[r] = moments.mean;
    rstd[r] = moments.rstd;
    ASHLAR_VECTORIZE
    for (std::int64_t c = 0; c < cols; ++c)
      out[c] = layer_norm_value(row[c], moments.mean, moments.rstd, gamma[c], beta[c]);
  }
}

}  // namespace ashlar::device::host
