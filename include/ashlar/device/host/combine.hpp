// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a reduction does to two values, for numbers and for compilers' vectors of them:
//
//   sum   a + b           integers wrap around
//   max   the larger      NaN if either is NaN; of equal values (-0 and 0 are) the first
//   min   the smaller     likewise
//
// max and min are selections, so their bits are determined by the order of the operands, the sign of
// zero and the payload of a NaN included (of two NaNs, the second). Of a sum, only that it is NaN.

#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::device::host {

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
