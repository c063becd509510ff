// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies one array to another before each trial. The benchmark uses neither of them. The copy
// evicts the benchmark's operands from the caches, as the other parts of a program would. Otherwise
// the first call of a trial would find its operands still cached from the previous trial.
// bench/redistribute needs no such copy, because its contestants take turns.

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
