// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy of one row, shared by the host's loops and the device's kernels. `sum` is
// the sum of e^(x - maximum) over all columns. A row with a target < 0 is ignored.
//
//   cross_entropy_row_loss   maximum + log(sum) - target_logit; 0 if the row is ignored
//   gradient                 e^(x - maximum) (scale / sum), minus scale in the target's column

#include <cmath>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

template <class T>
ASHLAR_HD T cross_entropy_row_loss(T maximum, T sum, T target_logit, std::int32_t target) {
  return target < 0 ? T(0) : maximum + std::log(sum) - target_logit;
}

/// Returns the gradient in a column that is not the target's. `factor` is scale / sum.
template <class T>
[[gnu::always_inline]] ASHLAR_HD inline T cross_entropy_share(T x, T maximum, T factor) {
  return math::exp(x - maximum) * factor;
}

}  // namespace ashlar::device
