// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Learning-rate schedules. A schedule is a function of the step's number, counted from 0, that
// returns a factor. The trainer multiplies the optimizer's lr by this factor.
//
//   constant_rate   returns 1 in every step
//   warmup_cosine   rises linearly over `warmup` steps, then falls along a half cosine to `floor`

#include <cmath>
#include <cstdint>
#include <numbers>

namespace ashlar::train {

/// The schedule that uses the optimizer's lr in every step.
struct constant_rate {
  double operator()(std::int64_t) const { return 1; }
};

/// A schedule whose factor rises linearly to 1 in the first `warmup` steps. Then the factor falls
/// along a half cosine to `floor` at step `total`.
struct warmup_cosine {
  std::int64_t warmup = 0;
  std::int64_t total = 1;  ///< the number of steps, including the warm-up
  double floor = 0.1;      ///< the factor at the end

  double operator()(std::int64_t step) const {
    if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (step >= total) return floor;
    double const done = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
};

}  // namespace ashlar::train
