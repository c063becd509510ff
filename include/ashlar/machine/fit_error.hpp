// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How far a fitted model is off the samples it was fitted to, relative to each sample: the median,
// which says what is usual, and the worst. Seconds that no clock gives are refused here for all fits.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ashlar/support/error.hpp>

namespace ashlar {

/// How far predictions are from what was measured, relative to that.
struct fit_error {
  double median = 0;
  double worst = 0;
};

/// Of the predictions for the samples, in the same order.
inline fit_error error_of(std::vector<double> const& predicted,
                          std::vector<double> const& measured) {
  std::vector<double> off;
  for (std::size_t i = 0; i < measured.size(); ++i)
    off.push_back(std::abs(predicted[i] / measured[i] - 1));
  if (off.empty()) return {};
  auto const middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::nth_element(off.begin(), middle, off.end());
  double const median = *middle;
  return {median, *std::max_element(off.begin(), off.end())};
}

namespace detail {

inline void require_time(char const* operation, double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds))
    throw error(operation,
                "a sample took " + std::to_string(seconds) + " seconds. Measure times above zero.");
}

}  // namespace detail
}  // namespace ashlar
