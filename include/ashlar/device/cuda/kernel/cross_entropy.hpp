// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels for softmax cross-entropy, with the functions of device/host/cross_entropy.hpp. A row of
// logits has one column for each word of the vocabulary. This rank has the columns [first_column,
// first_column + cols). A row with a target < 0 is ignored. Losses are of type accumulation_t<T>.
//
// The caller runs the following phases. If the columns are split over ranks, it all-reduces the
// result of each of the first three before it runs the next phase:
//
//   phase                        result                         all-reduce by
//   row_max (softmax.hpp)        maximum of each row            max
//   row_exp_sum (softmax.hpp)    sum of e^(x - maximum)         sum
//   cross_entropy_target_logit   x[r, target], 0 if not local   sum
//     or, with label smoothing, cross_entropy_expected_logit
//   cross_entropy_loss           loss[r]
//   cross_entropy_gradient       gradient; may overwrite the logits

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/softmax.hpp>
#include <ashlar/device/formula/cross_entropy.hpp>

namespace ashlar::cuda {

namespace detail {

template <class T>
struct cross_entropy_gradient_op {
  static constexpr bool any_row = true;
  using A = accumulation_t<T>;
  T const* logits;
  std::int32_t const* targets;
  A const* maximum;
  A const* sum;
  std::int64_t cols, first_column;
  A scale;
  T* gradient;
  device::target_distribution<A> q;

  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share) const {
    bool const ignored = targets[row] < 0;
    std::int64_t const target = targets[row] - first_column;
    A const peak = maximum[row], factor = scale / sum[row];
    A const own = scale * q.own, each = scale * q.each;
    share([&](std::int64_t c, int at) {
      auto values = share.template read<0>(logits + row * cols, c, at);
      for (int k = 0; k < Width; ++k) {
        A const share_of_all = device::cross_entropy_share(static_cast<A>(values.at[k]), peak,
                                                           factor) -
                               each;
        A const value = c + k == target ? share_of_all - own : share_of_all;
        values.at[k] = static_cast<T>(ignored ? A(0) : value);
      }
      store<Width>(gradient + row * cols + c, values);
    });
  }
};

template <class T>
struct target_logit_each {
  T const* logits;
  std::int32_t const* targets;
  std::int64_t cols, first_column;
  accumulation_t<T>* target_logit;

  ASHLAR_HD void operator()(std::int64_t r) const {
    using A = accumulation_t<T>;
    std::int64_t const c = targets[r] - first_column;
    bool const here = targets[r] >= 0 && c >= 0 && c < cols;
    target_logit[r] = here ? static_cast<A>(logits[r * cols + c]) : A(0);
  }
};

template <class T>
struct expected_logit_op {
  static constexpr bool any_row = true;
  using partial = accumulation_t<T>;
  T const* logits;
  std::int32_t const* targets;
  std::int64_t cols, first_column;
  device::target_distribution<partial> q;
  partial* expected_logit;

  static ASHLAR_HD partial combine(partial a, partial b) { return a + b; }
  template <int Width, class Share>
  ASHLAR_HD partial gather(std::int64_t row, Share const& share) const {
    T const* const x = logits + row * cols;
    std::int64_t const target = targets[row] - first_column;
    partial sum = partial(0), own = partial(0);
    share([&](std::int64_t c, int) {
      auto const values = load<Width>(x + c);
      for (T const value : values.at) sum += static_cast<partial>(value);
      if (c <= target && target < c + Width) own = static_cast<partial>(x[target]);
    });
    return q.each * sum + q.own * own;
  }
  template <int Width, class Share>
  ASHLAR_HD void apply(std::int64_t row, Share const& share, partial total) const {
    if (share.is_first()) expected_logit[row] = targets[row] < 0 ? partial(0) : total;
  }
};

template <class A>
struct row_loss_each {
  A const* maximum;
  A const* sum;
  A const* target_logit;
  std::int32_t const* targets;
  A* loss;

  ASHLAR_HD void operator()(std::int64_t r) const {
    loss[r] = device::cross_entropy_row_loss(maximum[r], sum[r], target_logit[r], targets[r]);
  }
};

}  // namespace detail

template <launcher Launcher, class T>
void cross_entropy_target_logit(Launcher const& launch, T const* logits,
                                std::int32_t const* targets, std::int64_t rows, std::int64_t cols,
                                std::int64_t first_column, accumulation_t<T>* target_logit) {
  launch.for_each("cross_entropy_target_logit",
                  detail::target_logit_each<T>{logits, targets, cols, first_column, target_logit},
                  rows);
}

template <launcher Launcher, class T>
void cross_entropy_expected_logit(
    Launcher const& launch, T const* logits, std::int32_t const* targets, std::int64_t rows,
    std::int64_t cols, std::int64_t first_column,
    std::type_identity_t<device::target_distribution<accumulation_t<T>>> q,
    accumulation_t<T>* expected_logit) {
  detail::expected_logit_op<T> const op{logits, targets, cols, first_column, q, expected_logit};
  launch_rows<T>(launch, "cross_entropy_expected_logit", op, rows, cols, is_packable(logits));
}

template <launcher Launcher, class A>
void cross_entropy_loss(Launcher const& launch, A const* maximum, A const* sum,
                        A const* target_logit, std::int32_t const* targets, std::int64_t rows,
                        A* loss) {
  launch.for_each("cross_entropy_loss",
                  detail::row_loss_each<A>{maximum, sum, target_logit, targets, loss}, rows);
}

template <launcher Launcher, class T>
void cross_entropy_gradient(
    Launcher const& launch, T const* logits, std::int32_t const* targets,
    accumulation_t<T> const* maximum, accumulation_t<T> const* sum, std::int64_t rows,
    std::int64_t cols, std::int64_t first_column, std::type_identity_t<accumulation_t<T>> scale,
    T* gradient, std::type_identity_t<device::target_distribution<accumulation_t<T>>> q = {}) {
  detail::cross_entropy_gradient_op<T> const op{logits,       targets, maximum,  sum, cols,
                                                first_column, scale,   gradient, q};
  launch_rows<T>(launch, "cross_entropy_gradient", op, rows, cols, is_packable(logits, gradient));
}

}  // namespace ashlar::cuda
