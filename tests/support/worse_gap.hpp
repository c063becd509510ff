// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The maximum of errors, for tests: unlike std::max, it never loses a NaN.

#include <algorithm>
#include <cmath>

/// Returns the larger one of two errors, or infinity if `gap` is NaN.
inline double worse_gap(double worst, double gap) {
  return std::isnan(gap) ? HUGE_VAL : std::max(worst, gap);
}
