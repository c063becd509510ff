// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Measures the error of a fitted model: how far its predicted times deviate from the measured times
// to which it was fitted. An error is relative to the measured time. error_of returns the median
// and the worst error. The file also contains require_time, by which all fits reject invalid
// measured times.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ashlar/support/error.hpp>

namespace ashlar {

/// The relative deviation of predictions from measurements.
struct fit_error {
  double median = 0;
  double worst = 0;
};

/// Returns the errors of predictions. predicted[i] and measured[i] are the seconds of one sample.
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
    throw error(operation, "a sample has the time " + std::to_string(seconds) +
                               " s. Times must be finite and above zero.");
}

}  // namespace detail
}  // namespace ashlar
