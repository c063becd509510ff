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

#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

template <class T>
ASHLAR_HD T cross_entropy_row_loss(T maximum, T sum, T target_logit, std::int32_t target) {
  return target < 0 ? T(0) : maximum + std::log(sum) - target_logit;
}

/// Returns the gradient with respect to a logit x. In the target's column, the caller must also
/// subtract `scale`. `factor` is scale / sum, where `sum` is the sum of e^(x - maximum) over the
/// row.
template <class T>
[[gnu::always_inline]] ASHLAR_HD inline T cross_entropy_share(T x, T maximum, T factor) {
  return math::exp(x - maximum) * factor;
}

}  // namespace ashlar::device
