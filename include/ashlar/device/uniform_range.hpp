// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Uniform random numbers of type T in [low, high), from random words, on the host and on a device:
//
//   low + (high - low) * u, rounded to T     u in [0, 1) is uniform_from_word (philox.hpp)
//
// The sum and the rounding to T may give `high` or more: bfloat16 rounds 0.999 to 1. Then the
// number is the largest T below `high`. If T is bfloat16 and `low` is not a bfloat16, numbers near
// `low` may be rounded to a number below `low`.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/philox.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::device {

template <class T>
class uniform_range {
 public:
  using A = accumulation_t<T>;

  /// Expects low <= high. If low equals high, all numbers are `low`, rounded to T.
  uniform_range(A low, A high)
      : low_(low), width_(high - low), most_(low < high ? below(high) : low) {}

  ASHLAR_HD T operator()(std::uint32_t word) const {
    A const value = low_ + width_ * uniform_from_word<A>(word);
    return static_cast<T>(most_ < value ? most_ : value);
  }

 private:
  /// Returns the largest T below `high`.
  static A below(A high) {
    if constexpr (std::is_same_v<T, A>) {
      return std::nextafter(high, -std::numeric_limits<A>::infinity());
    } else {
      T const nearest(high);
      if (static_cast<A>(nearest) < high) return static_cast<A>(nearest);
      std::uint16_t const bits = nearest.bits();
      bool const is_negative = bits > 0x8000u;
      return static_cast<A>(T::from_bits(static_cast<std::uint16_t>((bits & 0x7fffu) == 0 ? 0x8001u
                                                                    : is_negative ? bits + 1u
                                                                                  : bits - 1u)));
    }
  }

  A low_, width_, most_;
};

}  // namespace ashlar::device
