// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The softmax cross-entropy of one row of logits x, shared by the host's loops and the device's
// kernels. The target is a column of the row. A row with a negative target is ignored: the loss of
// the row is 0.
//
//   maximum    the largest logit of the row
//   sum        the sum of e^(x - maximum) over all columns
//   loss       log(sum) - (x[target] - maximum)
//   scale      the gradient of the final loss with respect to this row's loss
//   gradient   scale e^(x - maximum) / sum, minus `scale` in the target's column
//
// With label smoothing, a row has a probability q[c] for each column c instead of one target. Then
// the loss has the sum over c of q[c] x[c] in place of x[target]. In the gradient, scale q[c] is
// subtracted in every column c.

#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

/// The probabilities q of the classes for one target: q is own + each for the class of the target,
/// and `each` for every other class. By default, the target's class has probability 1.
template <class T>
struct target_distribution {
  T own = T(1);
  T each = T(0);
};

/// Returns the probabilities for label smoothing: the share `smoothing` of the probability is
/// divided evenly among all classes, and the target's class gets the rest in addition.
template <class T>
constexpr target_distribution<T> smoothed_target(double smoothing, std::int64_t classes) {
  return {static_cast<T>(1 - smoothing), static_cast<T>(smoothing / static_cast<double>(classes))};
}

template <class T>
ASHLAR_HD T cross_entropy_row_loss(T maximum, T sum, T target_logit, std::int32_t target) {
  // If the two logits are large and close together, their difference is exact. maximum + log(sum)
  // would be rounded to the spacing of large numbers.
  return target < 0 ? T(0) : std::log(sum) - (target_logit - maximum);
}

/// Returns scale e^(x - maximum) / sum, the part of the gradient with respect to the logit x that
/// does not depend on the target. `factor` is scale / sum.
template <class T>
[[gnu::always_inline]] ASHLAR_HD inline T cross_entropy_share(T x, T maximum, T factor) {
  return math::exp(x - maximum) * factor;
}

}  // namespace ashlar::device
