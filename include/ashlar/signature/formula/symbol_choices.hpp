// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Operators of symbols that choose elements or join tensors, and the cumulative sum. symbol.hpp
// lists all operators.

#include <ashlar/signature/formula/selection.hpp>
#include <ashlar/signature/formula/symbol_dims.hpp>

namespace ashlar::formulas {

namespace detail {

/// Returns a symbol that has the extents of u, and the number a as every element.
template <int Rank>
constexpr symbol<Rank> filled(symbol<Rank> u, double a) {
  return with_number(operation::shift, pair(operation::drop, u, u), a);  // drop makes zeros
}

}  // namespace detail

/// Returns u where the mask is not 0, and v elsewhere. Operands may be repeated along dims, as in
/// u + v. The mask has the gradient 0.
template <int M, int A, int B>
constexpr auto where(symbol<M> mask, symbol<A> u, symbol<B> v) {
  auto const kept = detail::pair(operation::keep, u, mask);
  return detail::pair(operation::add, kept, detail::pair(operation::drop, v, mask));
}
/// Returns u where the mask is not 0, and the number a elsewhere.
template <int M, int A>
constexpr auto where(symbol<M> mask, symbol<A> u, double a) {
  return where(mask, u, detail::filled(mask, a));
}
/// Returns the number a where the mask is not 0, and v elsewhere.
template <int M, int B>
constexpr auto where(symbol<M> mask, double a, symbol<B> v) {
  return where(mask, detail::filled(mask, a), v);
}

/// Returns u and v one after the other along dim Dim. Throws ashlar::error if the extents of
/// another dim differ.
template <int Dim, int A, int B>
constexpr symbol<A> concat(symbol<A> u, symbol<B> v) {
  static_assert(A == any_rank || B == any_rank || A == B,
                "formula: concat joins tensors of equally many dims.");
  return {u.in, detail::add_join(*u.in, u.node, v.node, detail::dim_of(u, Dim, "concat"))};
}
/// Returns three or more tensors one after the other along dim Dim.
template <int Dim, int A, int B, int... More>
  requires(sizeof...(More) > 0)
constexpr symbol<A> concat(symbol<A> u, symbol<B> v, symbol<More>... more) {
  return concat<Dim>(concat<Dim>(u, v), more...);
}

/// Returns the indices [begin, begin + size) of dim Dim of u. Throws ashlar::error if u does not
/// have them.
template <int Dim, int Rank>
constexpr symbol<Rank> slice(symbol<Rank> u, std::int64_t begin, std::int64_t size) {
  return {u.in, detail::add_slice(*u.in, u.node, detail::dim_of(u, Dim, "slice"), begin, size)};
}

/// Returns the cumulative sums of u along dim Dim.
template <int Dim, int Rank>
constexpr symbol<Rank> cumulative_sum(symbol<Rank> u) {
  int const d = detail::dim_of(u, Dim, "cumulative_sum");
  return detail::swapped(detail::with_number(operation::cumulate, detail::swapped(u, d, -1), 1), d,
                         -1);
}

/// Returns row ids[i] of the table for each i: [the dims of ids.., columns..]. An id that is not
/// the number of a row is an error when the formula is computed. The ids have the gradient 0.
template <int Table, int Ids>
constexpr auto take_rows(symbol<Table> table, symbol<Ids> ids) {
  static_assert(Table == any_rank || Table >= 1, "formula: the table of take_rows has no rows.");
  return symbol<(Table == any_rank || Ids == any_rank ? any_rank : Table - 1 + Ids)>{
      table.in, detail::add_taken_rows(*table.in, table.node, ids.node)};
}

}  // namespace ashlar::formulas
