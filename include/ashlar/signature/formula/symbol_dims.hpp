// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Operators of symbols that change the order or the number of a tensor's dims, or name the dims by
// letters. Also softmax: it works along the last dim, and for another dim it swaps this dim with
// the last one. symbol.hpp lists all operators.

#include <ashlar/signature/einsum.hpp>
#include <ashlar/signature/formula/symbol_type.hpp>

namespace ashlar::formulas {

namespace detail {

/// Returns u with its dims in the order `order`. Throws ashlar::error if `order` is not a
/// permutation of the dims of u.
template <int Rank>
constexpr symbol<Rank> permuted(symbol<Rank> u, inplace_vector<int, max_rank> const& order) {
  shape const& extents = u.in->nodes[u.node].extents;
  bool fits = order.size() == extents.rank();
  for (int d = 0; d < extents.rank(); ++d) fits = fits && order.contains(d);
  if (!fits)
    throw error(u.in->name, "permute names each dim of " + to_string(extents) +
                                " once: permute<1, 0>(u) for a tensor of two dims.");
  return {u.in, add_permutation(*u.in, u.node, order)};
}
template <int Rank>
constexpr symbol<Rank> swapped(symbol<Rank> u, int first, int second) {
  inplace_vector<int, max_rank> order;
  int const i = dim_of(u, first, "transpose"), j = dim_of(u, second, "transpose");
  for (int d = 0; d < u.in->nodes[u.node].extents.rank(); ++d)
    order.push_back(d == i ? j : d == j ? i : d);
  return i == j ? u : permuted(u, order);
}

}  // namespace detail

/// Returns u with its dims in another order: dim i of the result is dim Order[i] of u.
template <int... Order, int Rank>
constexpr symbol<Rank> permute(symbol<Rank> u) {
  static_assert(Rank == any_rank || Rank == static_cast<int>(sizeof...(Order)),
                "formula: permute names each dim of u once, as permute<1, 0>(u) for two dims.");
  return detail::permuted(u, {Order...});
}
/// Returns u with dims First and Second swapped.
template <int First, int Second, int Rank>
constexpr symbol<Rank> transpose(symbol<Rank> u) {
  return detail::swapped(u, First, Second);
}
/// Returns the transpose of a matrix.
template <int Rank>
constexpr symbol<Rank> transpose(symbol<Rank> u) {
  static_assert(
      Rank == any_rank || Rank == 2,
      "formula: transpose(u) is for matrices. Name the dims to swap: transpose<1, 2>(u).");
  return permute<1, 0>(u);
}

/// Returns the softmax of u along the last dim.
template <int Rank>
constexpr symbol<Rank> softmax(symbol<Rank> u) {
  shape const& extents = u.in->nodes[u.node].extents;
  auto const letters = first_letters(extents.rank());
  return {u.in,
          detail::add_with_dims(*u.in, operation::softmax, u.node, letters, letters, extents)};
}
/// Returns the softmax of u along dim `dim`.
template <int Rank>
constexpr symbol<Rank> softmax(symbol<Rank> u, int dim) {
  int const d = detail::dim_of(u, dim, "softmax");
  return detail::swapped(softmax(detail::swapped(u, d, -1)), d, -1);
}

/// Returns u with dim `dim` divided into dims of the given extents, of which the last one varies
/// fastest. No mesh axis may split the dim. Throws ashlar::error if the product of the extents is
/// not the extent of the dim, or if the result would have more than max_rank dims.
template <int Rank, int Parts>
constexpr auto split_dim(symbol<Rank> u, int dim, std::int64_t const (&extents)[Parts]) {
  int const d = detail::dim_of(u, dim, "split_dim");
  shape parts;
  for (auto const extent : extents) parts.extent.push_back(extent);
  shape const x = u.in->nodes[u.node].extents;
  if ((x[d] != -1 && parts.elements() != x[d]) || x.rank() + Parts - 1 > max_rank)
    throw error(u.in->name, "split_dim cannot divide dim " + std::to_string(d) + " of " +
                                to_string(x) + " into " + to_string(parts) +
                                ": the product must be its extent, and a tensor has at most " +
                                std::to_string(max_rank) + " dims.");
  return symbol<(Rank == any_rank ? any_rank : Rank + Parts - 1)>{
      u.in, detail::add_reshape(*u.in, u.node, d, d, parts)};
}
/// Returns u with its dims First to Last merged into one. No mesh axis may split these dims.
template <int First, int Last, int Rank>
constexpr auto flatten(symbol<Rank> u) {
  static_assert(First >= 0 && First <= Last && (Rank == any_rank || Last < Rank),
                "formula: flatten<1, 2>(u) merges dims 1 to 2, which u must have.");
  shape const x = u.in->nodes[u.node].extents;
  detail::dim_of(u, Last, "flatten");
  shape whole{1};
  for (int d = First; d <= Last; ++d)
    whole.extent[0] = x[d] == -1 || whole[0] == -1 ? -1 : whole[0] * x[d];
  return symbol<(Rank == any_rank ? any_rank : Rank - (Last - First))>{
      u.in, detail::add_reshape(*u.in, u.node, First, Last, whole)};
}

namespace detail {

/// Throws ashlar::error unless an operand has as many letters as dims.
constexpr void expect_letters(graph const& g, int u, dim_letters const& letters) {
  if (g[u].extents.rank() != letters.length)
    throw error(g.name, "einsum names " + std::to_string(letters.length) + " dims as " +
                            std::string(letters.view()) + " of a tensor " +
                            to_string(g[u].extents) + ".");
}

}  // namespace detail

/// Returns the product of u and v by the letters of Text, as einsum<"bsd,df->bsf">(u, v). Sums over
/// the dims whose letter the result lacks. Both operands must have each of these letters. Throws
/// ashlar::error if the extents of a letter differ.
template <einsum_text Text, int A, int B>
constexpr auto einsum(symbol<A> u, symbol<B> v) {
  constexpr auto of = read_einsum(Text);
  static_assert(of.fault == einsum_fault::none && of.operands == 2 &&
                    (A == any_rank || A == of.a.length) && (B == any_rank || B == of.b.length),
                "formula: einsum names each dim of two tensors and of the result by a letter, as "
                "einsum<\"bsd,df->bsf\">(u, v).");
  static_assert(
      [&] {
        bool both = true;
        for (char const l : of.a.view()) both = both && (of.b.has(l) || of.c.has(l));
        for (char const l : of.b.view()) both = both && (of.a.has(l) || of.c.has(l));
        return both;
      }(),
      "formula: einsum of two tensors sums over letters that both have. Sum over another dim "
      "first: "
      "sum(u, dim).");
  graph& g = *u.in;
  detail::expect_letters(g, u.node, of.a);
  detail::expect_letters(g, v.node, of.b);
  shape const x = g[u.node].extents, y = g[v.node].extents;
  for (int i = 0; i < of.a.length; ++i)
    for (int j = 0; j < of.b.length; ++j)
      if (of.a.text[i] == of.b.text[j] && !may_be_equal(x[i], y[j]))
        throw error(g.name, std::string("einsum of ") + to_string(x) + " and " + to_string(y) +
                                ": the extents of letter " + of.a.text[i] + " differ.");
  return symbol<of.c.length>{&g, detail::add_contraction(g, u.node, v.node, of.a, of.b, of.c)};
}
/// Returns u with its dims in the order of the result's letters, as einsum<"mn->nm">(u).
template <einsum_text Text, int Rank>
constexpr auto einsum(symbol<Rank> u) {
  constexpr auto of = read_einsum(Text);
  static_assert(
      of.fault == einsum_fault::none && of.operands == 1 && of.c.length == of.a.length &&
          (Rank == any_rank || Rank == of.a.length),
      "formula: einsum of one tensor permutes its dims, as einsum<\"mn->nm\">(u). Sum over a "
      "dim by sum(u, dim).");
  detail::expect_letters(*u.in, u.node, of.a);
  inplace_vector<int, max_rank> order;
  for (char const l : of.c.view()) order.push_back(static_cast<int>(of.a.view().find(l)));
  return symbol<of.c.length>{u.in, detail::add_permutation(*u.in, u.node, order)};
}

}  // namespace ashlar::formulas
