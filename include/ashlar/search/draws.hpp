// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes random numbers from a seed. The distributions of the standard library differ between
// implementations. So this class uses the numbers of std::mt19937_64 directly, which gives equal
// results everywhere.

#include <cstdint>
#include <random>

namespace ashlar::search::detail {

class draws {
 public:
  explicit draws(std::uint64_t seed) : generator_(seed) {}

  /// Returns an integer in 0 .. n - 1.
  int below(int n) { return static_cast<int>(generator_() % static_cast<std::uint64_t>(n)); }
  /// Returns a number in [0, 1).
  double uniform() { return double(generator_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 generator_;
};

}  // namespace ashlar::search::detail
