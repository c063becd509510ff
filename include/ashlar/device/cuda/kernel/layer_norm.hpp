// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernel for the forward pass of layer norm, with the function of device/host/layer_norm.hpp
// and the formulas of formula/layer_norm.hpp. Sums, means and deviations are of type
// accumulation_t<T>.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/rows.hpp>
#include <ashlar/device/formula/layer_norm.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

/// Sums over some elements of a row: of their differences from the row's first element, and of the
/// squares of these differences.
template <class A>
struct difference_sums {
  A first;
  A sum;
  A sum_of_squares;
};

template <class T>
struct layer_norm_op {
  static constexpr int kept = 1;
  using A = accumulation_t<T>;
  using partial = difference_sums<A>;
  T const* x;
  std::int64_t cols;
  T const* gamma;
  T const* beta;
  A epsilon;
  T* y;
  A* mean;
  A* rstd;

  static ASHLAR_HD partial combine(partial const& a, partial const& b) {
    return {a.first, a.sum + b.sum, a.sum_of_squares + b.sum_of_squares};
  }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    partial sums{static_cast<A>(x[row * cols]), A(0), A(0)};
    share.template keep<0>(x + row * cols);
    share([&](std::int64_t c, int at) {
      auto const values = share.template read<0>(x + row * cols, c, at);
      for (T const value : values.at) {
        A const difference = static_cast<A>(value) - sums.first;
        sums.sum += difference;
        sums.sum_of_squares += difference * difference;
      }
    });
    return sums;
  }

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial const& total) const {
    device::layer_norm_moments<A> const moments(total.first, total.sum, total.sum_of_squares,
                                                A(1) / static_cast<A>(cols), epsilon);
    share([&](std::int64_t c, int at) {
      auto values = share.template read<0>(x + row * cols, c, at);
      auto const g = load<Width>(gamma + c);
      auto const b = load<Width>(beta + c);
      for (int k = 0; k < Width; ++k) {
        values.at[k] = static_cast<T>(
            device::layer_norm_value(static_cast<A>(values.at[k]), moments.mean, moments.rstd,
                                     static_cast<A>(g.at[k]), static_cast<A>(b.at[k])));
      }
      store<Width>(y + row * cols + c, values);
    });
    if (!share.is_first()) return;
    mean[row] = moments.mean;
    rstd[row] = moments.rstd;
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void layer_norm_forward(Launcher const& launch, T const* x, T const* gamma, T const* beta,
                        std::int64_t rows, std::int64_t cols,
                        std::type_identity_t<accumulation_t<T>> epsilon, T* y,
                        accumulation_t<T>* mean, accumulation_t<T>* rstd) {
  if (cols == 0) return;
  detail::layer_norm_op<T> const op{x, cols, gamma, beta, epsilon, y, mean, rstd};
  launch_rows<T>(launch, "layer_norm_forward", op, rows, cols, is_packable(x, gamma, beta, y));
}

}  // namespace ashlar::cuda
