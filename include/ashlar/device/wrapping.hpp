// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sums, differences and products of integers wrap around: they are right modulo 2^n for integers of
// n bits. Sums over ranks need this, because the addend of each rank is right only modulo 2^n. In
// C++, an overflow of signed integers is undefined behaviour, and one of unsigned integers wraps
// around. So a kernel computes with wrapping(x) and converts the result back:
//
//   static_cast<T>(wrapping(x) + wrapping(y))
//
// For all other types, wrapping(x) is x.

#include <type_traits>

#include <ashlar/config.hpp>

namespace ashlar::device {

/// Returns x in the type in which its sums, differences and products are computed. Integers smaller
/// than int become `unsigned`, because C++ would convert them to int. Other integers become
/// unsigned integers of the same size. All other types stay the same.
template <class T>
[[gnu::always_inline]] ASHLAR_HD constexpr auto wrapping(T const& x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::common_type_t<unsigned, std::make_unsigned_t<T>>>(x);
  else return x;
}

}  // namespace ashlar::device
