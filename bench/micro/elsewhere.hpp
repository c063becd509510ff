// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A copy between arrays that a benchmark does not use. Between two trials it leaves the caches as other
// parts of a program would, so that the first call of a trial does not find its operands where the trial
// before left them. bench/redistribute has the same effect from its contestants, which take turns.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ashlar_bench::micro {

class elsewhere {
 public:
  elsewhere() = default;
  explicit elsewhere(std::int64_t bytes)
      : from_(static_cast<std::size_t>(bytes), 1), to_(static_cast<std::size_t>(bytes), 0) {}

  void copy() {
    if (!from_.empty()) std::memcpy(to_.data(), from_.data(), from_.size());
  }

 private:
  std::vector<char> from_, to_;
};

}  // namespace ashlar_bench::micro
