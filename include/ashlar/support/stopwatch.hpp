// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Measures elapsed time with the monotonic clock, where the system has one. The library uses it in
// place of std::chrono::steady_clock, because including <chrono> takes a tenth of a small program's
// compile time.

#include <ctime>

namespace ashlar {

class stopwatch {
 public:
  stopwatch() : start_(now()) {}
  /// Returns the seconds since construction.
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    std::timespec t{};
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    std::timespec_get(&t, TIME_UTC);
#endif
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double start_;
};

}  // namespace ashlar
