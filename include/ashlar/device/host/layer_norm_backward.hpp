// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Backward pass of layer norm over the rows of a rows x cols array. Definitions: xhat = (x - mean)
// rstd, g = dy gamma, and C is the number of columns.
//
//   dx         = rstd (g - (sum of g) / C - xhat (sum of g xhat) / C), with sums over the row
//   dgamma[c] += the sum of dy xhat over the rows
//   dbeta[c]  += the sum of dy over the rows
//
// If ranks have different rows, dgamma and dbeta of each rank are partial sums over its rows.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/layer_norm.hpp>
#include <ashlar/device/host/reduce.hpp>

namespace ashlar::device::host {

/// Computes dx, and adds the gradients of gamma and beta to dgamma and dbeta. `mean` and `rstd` are
/// the results of the forward pass. dx may be dy.
template <class T>
void layer_norm_backward(T const* dy, T const* x, T const* mean, T const* rstd, T const* gamma,
                         std::int64_t rows, std::int64_t cols, T* dx, T* dgamma, T* dbeta) {
  if (cols == 0) return;
  T const share = T(1) / static_cast<T>(cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const gradient = dy + r * cols;
    T const* const row = x + r * cols;
    T* const out = dx + r * cols;
    T const centre = mean[r];
    T const scale = rstd[r];
    ASHLAR_VECTORIZE
    for (std::int64_t c = 0; c < cols; ++c) {
      dgamma[c] += gradient[c] * ((row[c] - centre) * scale);
      dbeta[c] += gradient[c];
    }
    T const sum_g = reduce_sum<T>(cols, [=](std::int64_t c) { return gradient[c] * gamma[c]; });
    T const sum_g_xhat = scale * reduce_sum<T>(cols, [=](std::int64_t c) {
                           return gradient[c] * gamma[c] * (row[c] - centre);
                         });
    layer_norm_gradient<T> const formula(centre, scale, sum_g, sum_g_xhat, share);
    ASHLAR_VECTORIZE
    for (std::int64_t c = 0; c < cols; ++c) out[c] = formula(gradient[c], row[c], gamma[c]);
  }
}

}  // namespace ashlar::device::host
