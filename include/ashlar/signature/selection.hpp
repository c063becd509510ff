// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of operators that choose among elements or compare them, and of
// conversions. A row says with which placements of its operands an operator is local on one mesh
// axis. d is any dim, and d' the same dim in the result:
//
//   x < y and the like  alike_signatures: S(d), S(d) -> S(d)   B, B -> B   nothing partial: whether
//                       u + v < w does not follow from u < w and v < w
//   max(x, y)           alike_signatures and Pmax, Pmax -> Pmax   Pmax, B -> Pmax   B, Pmax -> Pmax
//                                            Pmin, B -> Pmin      B, Pmin -> Pmin
//   min(x, y)           the rows of max(x, y) with Pmax and Pmin swapped
//   max(x, a), min(x, a)  S(d) -> S(d)       B -> B      Pmax -> Pmax   Pmin -> Pmin
//   where(m, x, y)      S(d), S(d), S(d) -> S(d)   B, B, B -> B   B, P, P -> P, since the result
//                       is linear in x and y together for a given mask m
//                       B, Pmax, Pmax -> Pmax   B, Pmax, B -> Pmax   B, B, Pmax -> Pmax, and the
//                       same with Pmin; not B, P, B: the elements of y would count once per rank
//   where(m, x, a)      S(d), S(d) -> S(d)   B, B -> B   B, Pmax -> Pmax   B, Pmin -> Pmin
//                       not B, P: the number a would count once per rank
//   cast, exact         S(d) -> S(d)   B -> B   P -> P   Pmax -> Pmax   Pmin -> Pmin
//   cast, monotone      S(d) -> S(d)   B -> B            Pmax -> Pmax   Pmin -> Pmin
//   cast, other         S(d) -> S(d)   B -> B            (cast_kind has the three kinds)
//
// An operand of a comparison, a maximum, a minimum or `where` may be repeated along some dims of
// the result. Letters for the dims express this, as in signature/elementwise.hpp.

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <ashlar/signature/elementwise.hpp>

namespace ashlar {

/// Returns the signature table of the larger (`op` is max) or the smaller (`op` is min) of x and y,
/// element by element, with dims given by letters.
constexpr signature_table extremum_signatures(std::string_view x, std::string_view y,
                                              std::string_view out, reduction op) {
  auto table = alike_signatures(x, y, out);
  table.push_back({{partial(op), partial(op)}, partial(op)});
  // Let u and v be the parts of a partial operand on two ranks, and w the other operand. Then
  // max(max(u, v), w) = max(max(u, w), max(v, w)),
  // max(min(u, v), w) = min(max(u, w), max(v, w)), and the same with max and min swapped.
  for (auto const of : {reduction::max, reduction::min}) {
    table.push_back({{partial(of), broadcast()}, partial(of)});
    table.push_back({{broadcast(), partial(of)}, partial(of)});
  }
  return table;
}

/// Returns the signature table of a map that never reverses the order of two numbers, such as
/// max(x, a). Partial maxima and minima may be mapped, but not partial sums.
constexpr signature_table monotone_map_signatures(int rank) {
  auto table = nonlinear_map_signatures(rank);
  for (auto const op : {reduction::max, reduction::min})
    table.push_back({{partial(op)}, partial(op)});
  return table;
}

/// Returns the signature table of where(mask, x, y). Letters name the dims, in the same way as the
/// arguments of alike_signatures.
constexpr signature_table where_signatures(std::string_view mask, std::string_view x,
                                           std::string_view y, std::string_view out) {
  using detail::role_of;
  signature_table table;
  table.push_back({{broadcast(), broadcast(), broadcast()}, broadcast()});
  for (char const letter : out)
    table.push_back(
        {{role_of(mask, letter), role_of(x, letter), role_of(y, letter)}, role_of(out, letter)});
  for (auto const op : {reduction::sum, reduction::max, reduction::min})
    table.push_back({{broadcast(), partial(op), partial(op)}, partial(op)});
  for (auto const op : {reduction::max, reduction::min}) {
    table.push_back({{broadcast(), partial(op), broadcast()}, partial(op)});
    table.push_back({{broadcast(), broadcast(), partial(op)}, partial(op)});
  }
  return table;
}

/// Returns the signature table of where(mask, x, a) and where(mask, a, x) for a number a.
constexpr signature_table where_number_signatures(std::string_view mask, std::string_view x,
                                                  std::string_view out) {
  auto table = alike_signatures(mask, x, out);
  for (auto const op : {reduction::max, reduction::min})
    table.push_back({{broadcast(), partial(op)}, partial(op)});
  return table;
}

/// Says what the conversion of one element type to another does to numbers.
///
///   exact      keeps every number, and so is linear and monotone
///   monotone   may round, but never reverses the order of two numbers. A NaN stays a NaN. A
///              conversion to longer integers is of this kind and not exact, because it is not
///              linear: sums of short integers wrap around where sums of long ones do not
///   other      may reverse the order: conversions to shorter integers, which wrap around, and of
///              floating-point numbers to integers, where a NaN becomes a number
enum class cast_kind : signed char { exact, monotone, other };

template <class From, class To>
constexpr cast_kind cast_kind_of() {
  if constexpr (std::is_same_v<From, To>) return cast_kind::exact;
  else if constexpr (std::is_integral_v<To>)
    return std::is_integral_v<From> && sizeof(To) >= sizeof(From) ? cast_kind::monotone
                                                                  : cast_kind::other;
  else
    return !std::is_integral_v<From> &&
                   std::numeric_limits<To>::digits >= std::numeric_limits<From>::digits
               ? cast_kind::exact
               : cast_kind::monotone;
}

/// Returns the signature table of a conversion of a tensor's elements to another type, for a
/// conversion of this kind.
constexpr signature_table cast_signatures(int rank, cast_kind kind) {
  if (kind == cast_kind::other) return nonlinear_map_signatures(rank);
  auto table = monotone_map_signatures(rank);
  if (kind == cast_kind::exact) table.push_back({{partial()}, partial()});
  return table;
}

}  // namespace ashlar
