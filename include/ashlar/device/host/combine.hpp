// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operation of a reduction on two values a and b, for numbers and for the compiler's vector
// types:
//
//   sum   a + b           integers wrap around (device/wrapping.hpp)
//   max   the larger      NaN if a or b is NaN; a if a equals b (-0 equals 0)
//   min   the smaller     the same rules
//
// max and min return one of a and b unchanged (b if both are NaN). So all bits of the maximum and
// the minimum are determined, including the sign of a zero and the payload of a NaN. If a or b is
// NaN, the sum is a NaN with unspecified bits.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/wrapping.hpp>
#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::device::host {

/// Elements are combined in groups of at most this many, one element after another. Then the
/// results of the groups are combined (combine_rows.hpp).
inline constexpr std::int64_t combined_at_once = 256;

/// Returns `a op b`, where op is sum, max or min. If an operand is NaN, max and min return a NaN.
template <reduction Op, class Value>
[[gnu::always_inline]] ASHLAR_HD inline Value combine(Value const& a, Value const& b) {
  if constexpr (Op == reduction::max) {
    return ((b > a) | (b != b)) ? b : a;
  } else if constexpr (Op == reduction::min) {
    return ((b < a) | (b != b)) ? b : a;
  } else {
    return static_cast<Value>(wrapping(a) + wrapping(b));
  }
}

}  // namespace ashlar::device::host
