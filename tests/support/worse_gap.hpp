// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the maximum of errors in tests. A NaN counts as infinity. With std::max, a NaN could be
// lost.

#include <algorithm>
#include <cmath>

namespace ashlar_test {

/// Returns the larger one of two errors, or infinity if `gap` is NaN.
inline double worse_gap(double worst, double gap) {
  return std::isnan(gap) ? HUGE_VAL : std::max(worst, gap);
}

}  // namespace ashlar_test
