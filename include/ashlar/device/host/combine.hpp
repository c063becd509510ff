// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operation of a reduction on two values, for numbers and for the compiler's vectors of
// numbers:
//
//   sum   a + b           integers wrap around
//   max   the larger      NaN if either is NaN; of equal values, such as -0 and 0, the first
//   min   the smaller     likewise
//
// max and min select one of their operands. So the order of the operands determines the bits of the
// result, including the sign of zero and the payload of a NaN (of two NaNs, the second one is
// selected). For a sum with a NaN, only that the result is NaN is determined.

#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::device::host {

/// Returns `a op b`.
template <reduction Op, class Value>
[[gnu::always_inline]] ASHLAR_HD inline Value combine(Value const& a, Value const& b) {
  if constexpr (Op == reduction::max) {
    return ((b > a) | (b != b)) ? b : a;
  } else if constexpr (Op == reduction::min) {
    return ((b < a) | (b != b)) ? b : a;
  } else if constexpr (std::is_integral_v<Value>) {
    using bits = std::make_unsigned_t<Value>;
    return static_cast<Value>(static_cast<bits>(a) + static_cast<bits>(b));
  } else {
    return a + b;
  }
}

}  // namespace ashlar::device::host
