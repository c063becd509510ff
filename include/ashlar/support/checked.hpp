// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A count of bytes or elements that remembers whether it left the range from 0 to 2^63 - 1. If an
// operand of a sum or product is out of range, the result counts as out of range as well. So a sum
// of products needs only one check, of the final result.

#include <cstdint>
#include <limits>

namespace ashlar {

class checked_count {
 public:
  constexpr checked_count(std::int64_t value = 0)
      : value_(value < 0 ? 0 : value), fits_(value >= 0) {}

  /// Returns whether the count is a number from 0 to 2^63 - 1. If so, `value` returns this number.
  constexpr bool fits() const { return fits_; }
  constexpr std::int64_t value() const { return value_; }

  friend constexpr checked_count operator+(checked_count a, checked_count b) {
    a.fits_ = a.fits_ && b.fits_ && a.value_ <= most - b.value_;
    a.value_ = a.fits_ ? a.value_ + b.value_ : most;
    return a;
  }
  friend constexpr checked_count operator*(checked_count a, checked_count b) {
    a.fits_ = a.fits_ && b.fits_ && (b.value_ == 0 || a.value_ <= most / b.value_);
    a.value_ = a.fits_ ? a.value_ * b.value_ : most;
    return a;
  }

 private:
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t value_;
  bool fits_;
};

}  // namespace ashlar
