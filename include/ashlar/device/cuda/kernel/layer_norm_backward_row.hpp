// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The gradient dx of one row of a layer norm, as an operation on rows (rows.hpp).

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/layer_norm.hpp>

namespace ashlar::cuda::detail {

template <class T>
struct layer_norm_backward_gather {
  using A = accumulation_t<T>;
  using partial = sum_pair<A>;
  T const* dy;
  T const* x;
  A const* mean;
  A const* rstd;
  T const* gamma;
  std::int64_t cols;

  static ASHLAR_HD partial combine(partial const& a, partial const& b) {
    return partial::combine(a, b);
  }
  /// Returns, over this thread's columns, the sum of g = dy gamma and the sum of g (x - mean).
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    partial sums{A(0), A(0)};
    A const centre = mean[row];
    share.template keep<0>(dy + row * cols);
    share.template keep<1>(x + row * cols);
    share([&](std::int64_t c, int at) {
      auto const gradient = share.template read<0>(dy + row * cols, c, at);
      auto const values = share.template read<1>(x + row * cols, c, at);
      auto const scale = load<Width>(gamma + c);
      for (int k = 0; k < Width; ++k) {
        A const g = static_cast<A>(gradient.at[k]) * static_cast<A>(scale.at[k]);
        sums.first += g;
        sums.second += g * (static_cast<A>(values.at[k]) - centre);
      }
    });
    return sums;
  }
};

template <class T>
struct layer_norm_backward_op : layer_norm_backward_gather<T> {
  static constexpr int kept = 2;
  using A = accumulation_t<T>;
  A share_of_column;
  T* dx;

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, sum_pair<A> const& total) const {
    write<Width>(row, share, total.first, this->rstd[row] * total.second);
  }

  template <int Width, class Share>
  ASHLAR_HD void write(std::int64_t row, Share const& share, A sum_g, A sum_g_xhat) const {
    device::layer_norm_gradient<A> const formula(this->mean[row], this->rstd[row], sum_g,
                                                 sum_g_xhat, share_of_column);
    share([&](std::int64_t c, int at) {
      auto gradient = share.template read<0>(this->dy + row * this->cols, c, at);
      auto const values = share.template read<1>(this->x + row * this->cols, c, at);
      auto const scale = load<Width>(this->gamma + c);
      for (int k = 0; k < Width; ++k) {
        gradient.at[k] = static_cast<T>(formula(static_cast<A>(gradient.at[k]),
                                                static_cast<A>(values.at[k]),
                                                static_cast<A>(scale.at[k])));
      }
      store<Width>(dx + row * this->cols + c, gradient);
    });
  }
};

}  // namespace ashlar::cuda::detail
