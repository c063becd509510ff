// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernel for the gradient of a softmax of complete rows: dx = y (dy - dot), where dot is the
// dot product of a row of dy and the same row of y. dx may be dy.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/rows.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

template <class T>
struct softmax_backward_op {
  static constexpr bool any_row = true;
  static constexpr int kept = 2;
  using partial = accumulation_t<T>;
  T const* dy;
  T const* y;
  std::int64_t cols;
  T* dx;

  static ASHLAR_HD partial combine(partial a, partial b) { return a + b; }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    partial sum = partial(0);
    share.template keep<0>(dy + row * cols);
    share.template keep<1>(y + row * cols);
    share([&](std::int64_t c, int at) {
      auto const gradient = share.template read<0>(dy + row * cols, c, at);
      auto const probability = share.template read<1>(y + row * cols, c, at);
      for (int k = 0; k < Width; ++k)
        sum += static_cast<partial>(gradient.at[k]) * static_cast<partial>(probability.at[k]);
    });
    return sum;
  }
  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial dot) const {
    share([&](std::int64_t c, int at) {
      auto gradient = share.template read<0>(dy + row * cols, c, at);
      auto const probability = share.template read<1>(y + row * cols, c, at);
      for (int k = 0; k < Width; ++k) {
        gradient.at[k] = static_cast<T>(static_cast<partial>(probability.at[k]) *
                                        (static_cast<partial>(gradient.at[k]) - dot));
      }
      store<Width>(dx + row * cols + c, gradient);
    });
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void softmax_backward(Launcher const& launch, T const* dy, T const* y, std::int64_t rows,
                      std::int64_t cols, T* dx) {
  launch_rows<T>(launch, "softmax_backward", detail::softmax_backward_op<T>{dy, y, cols, dx}, rows,
                 cols, is_packable(dy, y, dx));
}

}  // namespace ashlar::cuda
