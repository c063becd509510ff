// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels for the forward pass of layer norm, with the functions of device/host/layer_norm.hpp and
// the formulas of formula/layer_norm.hpp. Complete rows take one launch. If the columns of a row
// are split over ranks, the caller runs separate phases, with an all-reduce between two phases.
// Each phase is a function of this file. Sums, means and deviations are of type accumulation_t<T>.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/rows.hpp>
#include <ashlar/device/formula/layer_norm.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Two sums over a row, for example of x and of x^2, that are computed in one pass.
template <class A>
struct sum_pair {
  A first;
  A second;
  static ASHLAR_HD sum_pair combine(sum_pair const& a, sum_pair const& b) {
    return {a.first + b.first, a.second + b.second};
  }
};

namespace detail {

template <class T>
struct layer_norm_gather {
  using A = accumulation_t<T>;
  using partial = sum_pair<A>;
  T const* x;
  std::int64_t cols;

  static ASHLAR_HD partial combine(partial const& a, partial const& b) {
    return partial::combine(a, b);
  }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    partial sums{A(0), A(0)};
    share.template keep<0>(x + row * cols);
    share([&](std::int64_t c, int at) {
      auto const values = share.template read<0>(x + row * cols, c, at);
      for (T const value : values.at) {
        auto const v = static_cast<A>(value);
        sums.first += v;
        sums.second += v * v;
      }
    });
    return sums;
  }
};

template <class T>
struct layer_norm_sums_op : layer_norm_gather<T> {
  using A = accumulation_t<T>;
  A* sum;
  A* sum_of_squares;

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, sum_pair<A> const& total) const {
    if (!share.is_first()) return;
    sum[row] = total.first;
    sum_of_squares[row] = total.second;
  }
};

template <class T>
struct layer_norm_op : layer_norm_gather<T> {
  static constexpr int kept = 1;
  using A = accumulation_t<T>;
  T const* gamma;
  T const* beta;
  A epsilon;
  T* y;
  A* mean;
  A* rstd;

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, sum_pair<A> const& total) const {
    device::layer_norm_moments<A> const moments(total.first, total.second,
                                                A(1) / static_cast<A>(this->cols), epsilon);
    write<Width>(row, share, moments.mean, moments.rstd);
    if (!share.is_first()) return;
    mean[row] = moments.mean;
    rstd[row] = moments.rstd;
  }

  template <int Width, class Share>
  ASHLAR_HD void write(std::int64_t row, Share const& share, A centre, A scale) const {
    share([&](std::int64_t c, int at) {
      auto values = share.template read<0>(this->x + row * this->cols, c, at);
      auto const g = load<Width>(gamma + c);
      auto const b = load<Width>(beta + c);
      for (int k = 0; k < Width; ++k) {
        values.at[k] = static_cast<T>(device::layer_norm_value(static_cast<A>(values.at[k]), centre,
                                                               scale, static_cast<A>(g.at[k]),
                                                               static_cast<A>(b.at[k])));
      }
      store<Width>(y + row * this->cols + c, values);
    });
  }
};

/// Computes the same as layer_norm_op, but reads the mean and rstd of each row from arrays.
template <class T>
struct layer_norm_apply_op {
  using A = accumulation_t<T>;
  layer_norm_op<T> op;
  A const* mean;
  A const* rstd;

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share) const {
    op.template write<Width>(row, share, mean[row], rstd[row]);
  }
};

template <class A>
struct layer_norm_statistics_each {
  A const* sum;
  A const* sum_of_squares;
  A share, epsilon;
  A* mean;
  A* rstd;

  ASHLAR_HD void operator()(std::int64_t r) const {
    device::layer_norm_moments<A> const moments(sum[r], sum_of_squares[r], share, epsilon);
    mean[r] = moments.mean;
    rstd[r] = moments.rstd;
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void layer_norm_sums(Launcher const& launch, T const* x, std::int64_t rows, std::int64_t cols,
                     accumulation_t<T>* sum, accumulation_t<T>* sum_of_squares) {
  detail::layer_norm_sums_op<T> const op{{x, cols}, sum, sum_of_squares};
  launch_rows<T>(launch, "layer_norm_sums", op, rows, cols, is_packable(x));
}

template <launcher Launcher, class A>
void layer_norm_statistics(Launcher const& launch, A const* sum, A const* sum_of_squares,
                           std::int64_t rows, std::int64_t total_cols,
                           std::type_identity_t<A> epsilon, A* mean, A* rstd) {
  launch.for_each("layer_norm_statistics",
                  detail::layer_norm_statistics_each<A>{
                      sum, sum_of_squares, A(1) / static_cast<A>(total_cols), epsilon, mean, rstd},
                  rows);
}

template <launcher Launcher, class T>
void layer_norm_apply(Launcher const& launch, T const* x, accumulation_t<T> const* mean,
                      accumulation_t<T> const* rstd, T const* gamma, T const* beta,
                      std::int64_t rows, std::int64_t cols, T* y) {
  using A = accumulation_t<T>;
  detail::layer_norm_apply_op<T> const op{
      {{x, cols}, gamma, beta, A(0), y, nullptr, nullptr}, mean, rstd};
  launch_rows<T>(launch, "layer_norm_apply", op, rows, cols, is_packable(x, gamma, beta, y));
}

template <launcher Launcher, class T>
void layer_norm_forward(Launcher const& launch, T const* x, T const* gamma, T const* beta,
                        std::int64_t rows, std::int64_t cols,
                        std::type_identity_t<accumulation_t<T>> epsilon, T* y,
                        accumulation_t<T>* mean, accumulation_t<T>* rstd) {
  if (cols == 0) return;
  detail::layer_norm_op<T> const op{{x, cols}, gamma, beta, epsilon, y, mean, rstd};
  launch_rows<T>(launch, "layer_norm_forward", op, rows, cols, is_packable(x, gamma, beta, y));
}

}  // namespace ashlar::cuda
