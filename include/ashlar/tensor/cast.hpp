// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// cast<To>(x): the same values as elements of another type. Nothing is communicated. The table says
// which placements of x each conversion accepts on a mesh axis, and what it does to the numbers:
//
//   from -> to                            S, B    P      P(max), P(min)
//   bfloat16 -> float -> double           yes     yes    yes    keeps every number
//   double -> float -> bfloat16           yes     no     yes    rounds to nearest
//   integer -> float, double, bfloat16    yes     no     yes    rounds to nearest
//   int32 -> int64                        yes     no     yes    keeps every number, but sums of
//                                                               int32 wrap around earlier
//   int64 -> int32                        yes     no     no     wraps around
//   float, double, bfloat16 -> integer    yes     no     no     rounds towards 0; too large numbers
//                                                               become the largest integer, too
//                                                               small ones the least; NaN becomes 0
//
// A partial sum is accepted if the conversion is linear, and a partial maximum or minimum if the
// conversion keeps the order of numbers (cast_kind in signature/selection.hpp). A conversion of a
// type to itself makes a copy. On a device there are no conversions between integers and
// floating-point types.

#include <limits>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/selection.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

template <class From, class To, int Rank>
struct cast_rule {
  static constexpr char const* name = "cast";
  static constexpr char const* sentence = ASHLAR_SAYS_CAST;
  static constexpr signature_table table() {
    return cast_signatures(Rank, cast_kind_of<From, To>());
  }
};

/// Returns x rounded towards 0, or the nearest number of type To if To cannot represent this
/// integer. Returns 0 for a NaN.
template <class To, class From>
To truncated(From x) {
  using limits = std::numeric_limits<To>;
  // This is 2^31 or 2^63, the least integer that is too large. All floating-point types represent
  // it exactly.
  auto const end = static_cast<From>(-static_cast<From>(limits::min()));
  if (!(x == x)) return 0;
  if (x >= end) return limits::max();
  if (x < -end) return limits::min();
  return static_cast<To>(x);
}

}  // namespace detail

/// Returns the values of x as elements of type To, at the placement of x. Communicates nothing.
/// Throws ashlar::error if a run-time placement matches no row of the table.
template <class To, distributed X>
  requires locally_applicable<detail::cast_rule<typename X::value_type, To, X::rank>, X>
auto cast(X const& x) {
  using T = typename X::value_type;
  auto const p = detail::result_of<detail::cast_rule<T, To, X::rank>>(x);
  auto y = empty<To, X::rank>(x.mesh(), x.extents(), p);
  auto const n = x.local_elements();
  constexpr bool from_integer = std::is_integral_v<T>, to_integer = std::is_integral_v<To>;
  static_assert(X::processor_type::is_host || from_integer == to_integer,
                ASHLAR_SAYS_ON_HOST("cast between integers and others"));
  if constexpr (to_integer && !from_integer) {
    for (std::int64_t i = 0; i < n; ++i)
      y.data()[i] = detail::truncated<To>(static_cast<accumulation_t<T>>(x.data()[i]));
  } else if constexpr (std::same_as<T, To>) {
    copy_elements(x.mesh().processor(), static_cast<T const*>(x.data()), n, y.data());
  } else {
    convert(x.mesh().processor(), static_cast<T const*>(x.data()), n, y.data());
  }
  return y;
}
template <class To, distributed X>
ill_formed cast(X const&) {
  static_assert(detail::matched<detail::cast_rule<typename X::value_type, To, X::rank>, X>::fits,
                ASHLAR_SAYS_CAST);
  return {};
}

}  // namespace ashlar
