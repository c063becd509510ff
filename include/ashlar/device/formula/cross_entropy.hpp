// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The softmax cross-entropy of one row of logits x, shared by the host's loops and the device's
// kernels. The target is a column of the row. A row with a negative target is ignored: the loss of
// the row is 0.
//
//   maximum    the largest logit of the row
//   sum        the sum of e^(x - maximum) over all columns
//   loss       maximum + log(sum) - x[target]
//   scale      the gradient of the final loss with respect to this row's loss
//   gradient   scale e^(x - maximum) / sum, minus `scale` in the target's column
//
// With label smoothing, a row has a distribution q over the columns instead of one target. Then
// the sum over c of q[c] x[c] takes the place of x[target], and `scale` q[c] that of `scale`.

#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

/// The distribution that stands for a target: `each` for every class, and `own` beside it for the
/// class of the target. The default is the target alone.
template <class T>
struct target_distribution {
  T own = T(1);
  T each = T(0);
};

/// Returns the distribution of label smoothing: a share `smoothing` of the probability is divided
/// evenly among all classes, and the target keeps the rest.
template <class T>
constexpr target_distribution<T> smoothed_target(double smoothing, std::int64_t classes) {
  return {static_cast<T>(1 - smoothing), static_cast<T>(smoothing / static_cast<double>(classes))};
}

template <class T>
ASHLAR_HD T cross_entropy_row_loss(T maximum, T sum, T target_logit, std::int32_t target) {
  return target < 0 ? T(0) : maximum + std::log(sum) - target_logit;
}

/// Returns `scale` times the probability of a logit x, which is the gradient with respect to x as
/// far as it does not depend on the target. `factor` is scale / sum, where `sum` is the sum of e^(x
/// - maximum) over the row.
template <class T>
[[gnu::always_inline]] ASHLAR_HD inline T cross_entropy_share(T x, T maximum, T factor) {
  return math::exp(x - maximum) * factor;
}

}  // namespace ashlar::device
