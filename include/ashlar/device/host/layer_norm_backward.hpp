// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Backward pass of layer norm over the columns of a rows x cols array. Definitions: xhat = (x -
// mean) rstd, g = dy gamma, and C is the number of columns of a complete row.
//
//   layer_norm_backward_sums        sum_g[r] = sum_c g, sum_g_xhat[r] = sum_c g xhat
//   layer_norm_backward_apply       dx = rstd (g - sum_g / C - xhat sum_g_xhat / C)
//   layer_norm_backward_parameters  dgamma[c] += sum_r dy xhat, dbeta[c] += sum_r dy
//   layer_norm_backward             computes all of this for complete rows
//
// If the columns are split over ranks, the caller calls the first three functions with the columns
// of its rank. After layer_norm_backward_sums, the caller all-reduces sum_g and sum_g_xhat. If
// ranks have different rows, dgamma and dbeta of each rank are partial sums over its rows.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/layer_norm.hpp>
#include <ashlar/device/host/reduce.hpp>

namespace ashlar::device::host {

/// Computes, for each row, the sum of g = dy gamma and the sum of g xhat over the columns of this
/// rank. xhat is (x - mean) rstd.
template <class T>
void layer_norm_backward_sums(T const* dy, T const* x, T const* mean, T const* rstd, T const* gamma,
                              std::int64_t rows, std::int64_t cols, T* sum_g, T* sum_g_xhat) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const gradient = dy + r * cols;
    T const* const row = x + r * cols;
    T const centre = mean[r];
    T const scale = rstd[r];
    sum_g[r] = reduce_sum<T>(cols, [=](std::int64_t c) { return gradient[c] * gamma[c]; });
    sum_g_xhat[r] = scale * reduce_sum<T>(cols, [=](std::int64_t c) {
                      return gradient[c] * gamma[c] * (row[c] - centre);
                    });
  }
}

/// Computes dx in the columns of this rank. sum_g and sum_g_xhat are the sums over all `total_cols`
/// columns of the complete row. dx may be dy.
template <class T>
void layer_norm_backward_apply(T const* dy, T const* x, T const* mean, T const* rstd,
                               T const* gamma, T const* sum_g, T const* sum_g_xhat,
                               std::int64_t rows, std::int64_t cols, std::int64_t total_cols,
                               T* dx) {
  T const share = T(1) / static_cast<T>(total_cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const gradient = dy + r * cols;
    T const* const row = x + r * cols;
    T* const out = dx + r * cols;
    layer_norm_gradient<T> const formula(mean[r], rstd[r], sum_g[r], sum_g_xhat[r], share);
    ASHLAR_VECTORIZE
    for (std::int64_t c = 0; c < cols; ++c) out[c] = formula(gradient[c], row[c], gamma[c]);
  }
}

/// Adds the gradients of gamma and beta to dgamma [cols] and dbeta [cols]. The gradients are summed
/// over the rows of this rank.
template <class T>
void layer_norm_backward_parameters(T const* dy, T const* x, T const* mean, T const* rstd,
                                    std::int64_t rows, std::int64_t cols, T* dgamma, T* dbeta) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const gradient = dy + r * cols;
    T const* const row = x + r * cols;
    T const centre = mean[r];
    T const scale = rstd[r];
    ASHLAR_VECTORIZE
    for (std::int64_t c = 0; c < cols; ++c) {
      dgamma[c] += gradient[c] * ((row[c] - centre) * scale);
      dbeta[c] += gradient[c];
    }
  }
}

/// Computes dx, and adds the gradients of gamma and beta to dgamma and dbeta. The rows must be
/// complete. dx may be dy.
template <class T>
void layer_norm_backward(T const* dy, T const* x, T const* mean, T const* rstd, T const* gamma,
                         std::int64_t rows, std::int64_t cols, T* dx, T* dgamma, T* dbeta) {
  if (cols == 0) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const gradient = dy + r * cols;
    T const* const row = x + r * cols;
    T sum_g;
    T sum_g_xhat;
    layer_norm_backward_parameters(gradient, row, mean + r, rstd + r, 1, cols, dgamma, dbeta);
    layer_norm_backward_sums(gradient, row, mean + r, rstd + r, gamma, 1, cols, &sum_g,
                             &sum_g_xhat);
    layer_norm_backward_apply(gradient, row, mean + r, rstd + r, gamma, &sum_g, &sum_g_xhat, 1,
                              cols, cols, dx + r * cols);
  }
}

}  // namespace ashlar::device::host
