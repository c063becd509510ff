// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The gradient dx of one row of a layer norm, as an operation on rows (rows.hpp).

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/layer_norm.hpp>

namespace ashlar::cuda::detail {

/// The sum of g = dy gamma and the sum of g (x - mean) over some elements of a row.
template <class A>
struct gradient_sums {
  A g;
  A g_difference;
};

template <class T>
struct layer_norm_backward_op {
  static constexpr int kept = 2;
  using A = accumulation_t<T>;
  using partial = gradient_sums<A>;
  T const* dy;
  T const* x;
  A const* mean;
  A const* rstd;
  T const* gamma;
  std::int64_t cols;
  A share_of_column;  // 1 / cols
  T* dx;

  static ASHLAR_HD partial combine(partial const& a, partial const& b) {
    return {a.g + b.g, a.g_difference + b.g_difference};
  }
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
        sums.g += g;
        sums.g_difference += g * (static_cast<A>(values.at[k]) - centre);
      }
    });
    return sums;
  }

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial const& total) const {
    device::layer_norm_gradient<A> const formula(mean[row], rstd[row], total.g,
                                                 rstd[row] * total.g_difference, share_of_column);
    share([&](std::int64_t c, int at) {
      auto gradient = share.template read<0>(dy + row * cols, c, at);
      auto const values = share.template read<1>(x + row * cols, c, at);
      auto const scale = load<Width>(gamma + c);
      for (int k = 0; k < Width; ++k) {
        gradient.at[k] = static_cast<T>(formula(static_cast<A>(gradient.at[k]),
                                                static_cast<A>(values.at[k]),
                                                static_cast<A>(scale.at[k])));
      }
      store<Width>(dx + row * cols + c, gradient);
    });
  }
};

}  // namespace ashlar::cuda::detail
