// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares lists of numbers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <support/worse_gap.hpp>

namespace ashlar_test {

/// Returns the largest difference between corresponding elements of a and b, divided by the largest
/// magnitude in a if this magnitude exceeds 1. A difference that is NaN counts as infinite.
/// Returns 1e300 if a and b have different sizes.
inline double apart(std::vector<double> const& a, std::vector<double> const& b) {
  double most = 1, difference = 0;
  if (a.size() != b.size()) return 1e300;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i]));
    difference = worse_gap(difference, std::abs(a[i] - b[i]));
  }
  return difference / most;
}

}  // namespace ashlar_test
