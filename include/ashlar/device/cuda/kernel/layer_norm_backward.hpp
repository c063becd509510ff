// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels for the backward pass of layer norm, with the function of
// device/host/layer_norm_backward.hpp and the formulas of formula/layer_norm.hpp.
// layer_norm_backward launches two kernels. The first one computes dx, and for each chunk of rows
// the sums that make up dgamma and dbeta (layer_norm_backward_chunks.hpp). The second one adds up
// the sums of all chunks. If rows are long or not aligned, layer_norm_backward launches three
// kernels instead: two for dgamma and dbeta (columns.hpp), and then one for dx. dgamma and dbeta
// are of type accumulation_t<T> and are accumulated in a fixed order. dx may be dy.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/columns.hpp>
#include <ashlar/device/cuda/kernel/layer_norm.hpp>
#include <ashlar/device/cuda/kernel/layer_norm_backward_chunks.hpp>
#include <ashlar/device/cuda/kernel/layer_norm_backward_row.hpp>

namespace ashlar::cuda {

namespace detail {

template <class T>
struct layer_norm_parameter_terms {
  static constexpr int outputs = 2;
  using A = accumulation_t<T>;
  T const* dy;
  T const* x;
  A const* mean;
  A const* rstd;
  std::int64_t cols;

  template <int Width>
  ASHLAR_HD void get(std::int64_t row, std::int64_t c, A (&values)[2][Width]) const {
    auto const gradient = load<Width>(dy + row * cols + c);
    auto const x_values = load<Width>(x + row * cols + c);
    for (int k = 0; k < Width; ++k) {
      auto const g = static_cast<A>(gradient.at[k]);
      values[0][k] = g * ((static_cast<A>(x_values.at[k]) - mean[row]) * rstd[row]);
      values[1][k] = g;
    }
  }
};

}  // namespace detail

/// Returns the number of workspace elements that layer_norm_backward needs.
constexpr std::int64_t layer_norm_backward_workspace(std::int64_t rows, std::int64_t cols) {
  // The workspace has two rows of sums for each chunk of rows, one for dgamma and one for dbeta.
  // The chunks of layer_norm_backward_in_chunks are never larger than the chunks of
  // launch_column_sums. So this workspace is large enough for both.
  std::int64_t const chunk_rows = detail::layer_norm_chunk_rows(rows, cols);
  return 2 * cols * ((rows + chunk_rows - 1) / chunk_rows);
}

template <launcher Launcher, class T>
void layer_norm_backward(Launcher const& launch, T const* dy, T const* x,
                         accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                         T const* gamma, std::int64_t rows, std::int64_t cols,
                         accumulation_t<T>* workspace, T* dx, accumulation_t<T>* dgamma,
                         accumulation_t<T>* dbeta) {
  using A = accumulation_t<T>;
  if (cols == 0) return;
  detail::layer_norm_backward_op<T> const op{
      dy, x, mean, rstd, gamma, cols, A(1) / static_cast<A>(cols), dx};
  if (is_packable(dy, x, gamma, dx) && detail::fits_in_chunks<T>(cols))
    return detail::layer_norm_backward_in_chunks(launch, op, rows, workspace, dgamma, dbeta);
  // The parameter gradients are computed before dx, because the kernel for dx overwrites dy if dx
  // is dy.
  A* const out[] = {dgamma, dbeta};
  detail::layer_norm_parameter_terms<T> const terms{dy, x, mean, rstd, cols};
  launch_column_sums<T>(launch, "layer_norm_backward_parameters", terms, rows, cols,
                        is_packable(dy, x), workspace, out);
  launch_rows<T>(launch, "layer_norm_backward", op, rows, cols, is_packable(dy, x, gamma, dx));
}

}  // namespace ashlar::cuda
