// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels for the gradient of a softmax of rows. softmax_backward processes complete rows in one
// launch. If the columns of a row are split over ranks, the caller runs two phases, with an
// all-reduce of dot between them:
//
//   row_dot                  dot[r] = sum_c a[r, c] b[r, c]          all-reduce by sum
//   softmax_backward_apply   dx = y (dy - dot), where dot is row_dot of dy and y
//
// dx may be dy.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/rows.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

template <class T>
struct row_dot_op {
  static constexpr bool any_row = true;
  using partial = accumulation_t<T>;
  T const* a;
  T const* b;
  std::int64_t cols;
  partial* dot;

  static ASHLAR_HD partial combine(partial x, partial y) { return x + y; }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    partial sum = partial(0);
    share.template keep<0>(a + row * cols);
    share.template keep<1>(b + row * cols);
    share([&](std::int64_t c, int at) {
      auto const left = share.template read<0>(a + row * cols, c, at);
      auto const right = share.template read<1>(b + row * cols, c, at);
      for (int k = 0; k < Width; ++k)
        sum += static_cast<partial>(left.at[k]) * static_cast<partial>(right.at[k]);
    });
    return sum;
  }
  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial total) const {
    if (share.is_first()) dot[row] = total;
  }
};

template <class T>
struct softmax_backward_op : row_dot_op<T> {  // Here a is dy and b is y.
  static constexpr int kept = 2;
  using A = accumulation_t<T>;
  T* dx;

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, A total) const {
    share([&](std::int64_t c, int at) {
      auto gradient = share.template read<0>(this->a + row * this->cols, c, at);
      auto const probability = share.template read<1>(this->b + row * this->cols, c, at);
      for (int k = 0; k < Width; ++k) {
        gradient.at[k] = static_cast<T>(static_cast<A>(probability.at[k]) *
                                        (static_cast<A>(gradient.at[k]) - total));
      }
      store<Width>(dx + row * this->cols + c, gradient);
    });
  }
};

template <class T>
struct softmax_backward_apply_op {
  static constexpr bool any_row = true;
  using A = accumulation_t<T>;
  softmax_backward_op<T> op;
  A const* dot;

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share) const {
    op.template apply<Width>(row, share, dot[row]);
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void row_dot(Launcher const& launch, T const* a, T const* b, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* dot) {
  launch_rows<T>(launch, "row_dot", detail::row_dot_op<T>{a, b, cols, dot}, rows, cols,
                 is_packable(a, b));
}

template <launcher Launcher, class T>
void softmax_backward_apply(Launcher const& launch, T const* dy, T const* y,
                            accumulation_t<T> const* dot, std::int64_t rows, std::int64_t cols,
                            T* dx) {
  detail::softmax_backward_apply_op<T> const op{{{dy, y, cols, nullptr}, dx}, dot};
  launch_rows<T>(launch, "softmax_backward_apply", op, rows, cols, is_packable(dy, y, dx));
}

template <launcher Launcher, class T>
void softmax_backward(Launcher const& launch, T const* dy, T const* y, std::int64_t rows,
                      std::int64_t cols, T* dx) {
  launch_rows<T>(launch, "softmax_backward",
                 detail::softmax_backward_op<T>{{dy, y, cols, nullptr}, dx}, rows, cols,
                 is_packable(dy, y, dx));
}

}  // namespace ashlar::cuda
