// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels for the softmax of rows, and the first two phases of a cross-entropy (cross_entropy.hpp):
//
//   softmax_forward   y = softmax of each row of x; the rows are complete
//   row_max           maximum[r] = max_c x[r, c]
//   row_exp_sum       sum[r] = sum_c e^(x[r, c] - maximum[r])
//
// softmax_forward computes the maximum and the sum in one pass. A part of a row has the maximum m
// and the sum s of e^(x - m). Two parts with the pairs (m, s) and (m', s') together have the pair:
//
//   (M, s e^(m - M) + s' e^(m' - M)),  where M = max(m, m')
//
// Then softmax_forward computes the exponentials again instead of storing and reloading them. y may
// be x. softmax_backward.hpp has the backward pass.

#include <cstdint>
#include <limits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/rows.hpp>
#include <ashlar/device/math.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// The maximum of a set of values, and the sum of e^(value - maximum). For an empty set, the
/// maximum is -inf and the sum is 0.
template <class A>
struct exp_sum {
  A maximum;
  A sum;

  static ASHLAR_HD exp_sum combine(exp_sum const& a, exp_sum const& b) {
    A const peak = a.maximum < b.maximum ? b.maximum : a.maximum;
    return {peak, a.relative_to(peak) + b.relative_to(peak)};
  }
  /// Returns the sum of e^(value - peak), instead of e^(value - maximum). An empty set has the sum
  /// 0, where the formula would compute -inf - -inf = NaN.
  ASHLAR_HD A relative_to(A peak) const {
    return sum == A(0) ? A(0) : sum * device::math::exp(maximum - peak);
  }
};

namespace detail {

/// Returns the maximum of the row's elements in the columns of one thread. `share` enumerates these
/// columns.
template <class T, int Width, class Share>
ASHLAR_HD accumulation_t<T> share_max(T const* row, Share const& share) {
  using A = accumulation_t<T>;
  A peak = -std::numeric_limits<A>::infinity();
  share([&](std::int64_t c, int) {
    auto const values = load<Width>(row + c);
    for (T const value : values.at) {
      auto const v = static_cast<A>(value);
      peak = peak < v ? v : peak;
    }
  });
  return peak;
}

/// Returns the maximum of the row's elements x in the columns of one thread, and the sum of e^(x -
/// maximum) over these elements, computed in one pass. `share` enumerates the columns. If the
/// elements fit in registers, share.keep keeps them there, so that the caller can read them again
/// without accessing memory (rows.hpp).
template <class T, int Width, class Share>
ASHLAR_HD exp_sum<accumulation_t<T>> share_exp_sum(T const* row, Share const& share) {
  using A = accumulation_t<T>;
  exp_sum<A> all{-std::numeric_limits<A>::infinity(), A(0)};
  share.template keep<0>(row);
  share([&](std::int64_t c, int k) {
    auto const values = share.template read<0>(row, c, k);
    A peak = all.maximum;
    for (T const value : values.at) {
      auto const v = static_cast<A>(value);
      peak = peak < v ? v : peak;
    }
    // If all values so far are -inf, their exponentials must be 0. Subtracting 0 instead of the
    // maximum makes the exponentials 0, while -inf - -inf would be NaN.
    A const shift = peak == -std::numeric_limits<A>::infinity() ? A(0) : peak;
    A sum = all.relative_to(shift);
    for (T const value : values.at) sum += device::math::exp(static_cast<A>(value) - shift);
    all = {peak, sum};
  });
  return all;
}

template <class T>
struct row_max_op {
  static constexpr bool any_row = true;
  using partial = accumulation_t<T>;
  T const* x;
  std::int64_t cols;
  partial* maximum;

  static ASHLAR_HD partial combine(partial a, partial b) { return a < b ? b : a; }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    return share_max<T, Width>(x + row * cols, share);
  }
  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial total) const {
    if (share.is_first()) maximum[row] = total;
  }
};

template <class T>
struct row_exp_sum_op {
  static constexpr bool any_row = true;
  using partial = accumulation_t<T>;
  T const* x;
  std::int64_t cols;
  partial const* maximum;
  partial* sum;

  static ASHLAR_HD partial combine(partial a, partial b) { return a + b; }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    partial const peak = maximum[row];
    partial total = partial(0);
    share([&](std::int64_t c, int) {
      auto const values = load<Width>(x + row * cols + c);
      for (T const value : values.at)
        total += device::math::exp(static_cast<partial>(value) - peak);
    });
    return total;
  }
  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial total) const {
    if (share.is_first()) sum[row] = total;
  }
};

template <class T>
struct softmax_op {
  static constexpr bool any_row = true;
  static constexpr int kept = 1;
  using A = accumulation_t<T>;
  using partial = exp_sum<A>;
  T const* x;
  std::int64_t cols;
  T* y;

  static ASHLAR_HD partial combine(partial const& a, partial const& b) {
    return partial::combine(a, b);
  }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    return share_exp_sum<T, Width>(x + row * cols, share);
  }
  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial const& total) const {
    A const inverse = A(1) / total.sum;
    share([&](std::int64_t c, int k) {
      auto values = share.template read<0>(x + row * cols, c, k);
      for (T& v : values.at) {
        v = static_cast<T>(device::math::exp(static_cast<A>(v) - total.maximum) * inverse);
      }
      store<Width>(y + row * cols + c, values);
    });
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void row_max(Launcher const& launch, T const* x, std::int64_t rows, std::int64_t cols,
             accumulation_t<T>* maximum) {
  launch_rows<T>(launch, "row_max", detail::row_max_op<T>{x, cols, maximum}, rows, cols,
                 is_packable(x));
}

template <launcher Launcher, class T>
void row_exp_sum(Launcher const& launch, T const* x, accumulation_t<T> const* maximum,
                 std::int64_t rows, std::int64_t cols, accumulation_t<T>* sum) {
  launch_rows<T>(launch, "row_exp_sum", detail::row_exp_sum_op<T>{x, cols, maximum, sum}, rows,
                 cols, is_packable(x));
}

template <launcher Launcher, class T>
void softmax_forward(Launcher const& launch, T const* x, std::int64_t rows, std::int64_t cols,
                     T* y) {
  launch_rows<T>(launch, "softmax_forward", detail::softmax_op<T>{x, cols, y}, rows, cols,
                 is_packable(x, y));
}

}  // namespace ashlar::cuda
