// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The host's clocks, and the median of measured values.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <time.h>

namespace ashlar_bench {

/// Returns the seconds since a moment that stays the same while the program runs.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the CPU time of this process in seconds.
inline double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// Returns the median, or 0 if there are no values. If their number is even, the median is the
/// larger one of the middle two.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace ashlar_bench
