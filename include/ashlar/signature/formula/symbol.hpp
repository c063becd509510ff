// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Symbols, on which a function runs once to become a formula. A symbol stands for a tensor of
// `Rank` dims. An operator on symbols computes nothing; it adds a node to the formula's graph and
// returns the symbol of its result.
//
//   u + v  u - v  u * v  u / v    one operand may be repeated along dims, which are matched from
//                                 the last one on: [batch, features] * [features]
//   u + a  a - u  a * u  u / a  -u  ..    with a number a
//   matmul(u, v)                  u [.., k] times v [k, n], or a batch [.., k, n] of matrices
//   exp log sqrt rsqrt tanh sigmoid silu erf abs relu gelu (u)    of each element
//   pow(u, a)                     each element to the power of the number a
//   sum(u, d..)  mean(u, d..)     over the dims d.., which stay with extent 1; -1 is the last dim
//   max(u, d..)  min(u, d..)      the same; equal maxima share the gradient
//   softmax(u)  softmax(u, d)     along the last dim, or along dim d
//   einsum<"bsd,df->bsf">(u, v)   products and sums by letters, as for tensors; einsum<"bsd->sbd">(u)
//   permute<1, 0, 2>(u)           dims 1, 0 and 2 of u become dims 0, 1 and 2
//   transpose<0, 2>(u)            with dims 0 and 2 swapped; transpose(u) of a matrix
//   split_dim(u, d, {4, 8})       dim d of extent 32 becomes two dims of 4 and 8
//   flatten<1, 2>(u)              dims 1 to 2 become one dim
//
//   expect_extent(u, d, n)        refuses u unless its dim d has extent n
//
// Nothing else compiles on symbols. For other operators of ashlar/tensor.hpp the compiler says
// which ones formulas have. Extents that do not fit throw ashlar::error.

#include <concepts>
#include <type_traits>

#include <ashlar/signature/einsum.hpp>
#include <ashlar/signature/formula/graph.hpp>

#define ASHLAR_SAYS_FORMULA_OPERATOR(NAME)                                                         \
  "formula: " NAME                                                                                 \
  " is not an operator of formulas. They have + - * / of tensors and numbers, matmul(u, v), "      \
  "einsum, sum, mean, max and min(u, dims..), softmax, permute, transpose, split_dim, flatten, "   \
  "pow(u, number) and exp, log, sqrt, rsqrt, tanh, sigmoid, silu, erf, abs, relu and gelu. Write " \
  "a layer of your own for other operators: see nn/layer.hpp."

namespace ashlar::formulas {

/// The rank of a symbol whose number of dims the compiler does not know.
inline constexpr int any_rank = -1;

/// A tensor of `Rank` dims in a formula, or of any number of dims. It refers to the formula's
/// graph, which must outlive it.
template <int Rank>
struct symbol {
  static constexpr int rank = Rank;
  graph* in = nullptr;
  int node = -1;
};

template <class Type>
inline constexpr bool is_symbol = false;
template <int Rank>
inline constexpr bool is_symbol<symbol<Rank>> = true;

namespace detail {

template <class...>
inline constexpr bool never = false;

template <int A, int B>
using larger = symbol<(A == any_rank || B == any_rank ? any_rank
                       : A > B                        ? A
                                                      : B)>;

template <int A, int B>
constexpr larger<A, B> pair(operation what, symbol<A> u, symbol<B> v) {
  return {u.in, add_pair(*u.in, what, u.node, v.node)};
}
template <int Rank>
constexpr symbol<Rank> with_number(operation what, symbol<Rank> u, double a) {
  return {u.in, add_map(*u.in, what, u.node, a)};
}
template <int Rank>
constexpr symbol<Rank> applied(function f, symbol<Rank> u) {
  return {u.in, add_map(*u.in, operation::apply, u.node, 0, f)};
}

/// Returns dim `dim` of u counted from 0. Throws ashlar::error if u does not have it.
template <int Rank>
constexpr int dim_of(symbol<Rank> u, int dim, char const* name) {
  int const rank = u.in->nodes[u.node].extents.rank();
  int const d = dim < 0 ? dim + rank : dim;
  if (d < 0 || d >= rank)
    throw error(u.in->name, std::string(name) + " over dim " + std::to_string(dim) +
                                " of a tensor " + to_string(u.in->nodes[u.node].extents) +
                                ". Dims count from 0, and from the last one with -1.");
  return d;
}

/// Returns the mask of the given dims of u.
template <int Rank, class... Dim>
constexpr unsigned dims_of(symbol<Rank> u, char const* name, Dim... dims) {
  unsigned mask = 0;
  for (int const d : {static_cast<int>(dims)...}) {
    unsigned const bit = 1u << dim_of(u, d, name);
    if ((mask & bit) != 0)
      throw error(u.in->name, std::string(name) + " over dim " + std::to_string(d) +
                                  " of a tensor " + to_string(u.in->nodes[u.node].extents) +
                                  ", which is named twice.");
    mask |= bit;
  }
  return mask;
}

}  // namespace detail

template <int A, int B>
constexpr auto operator+(symbol<A> u, symbol<B> v) {
  return detail::pair(operation::add, u, v);
}
template <int A, int B>
constexpr auto operator-(symbol<A> u, symbol<B> v) {
  return detail::pair(operation::subtract, u, v);
}
template <int A, int B>
constexpr auto operator*(symbol<A> u, symbol<B> v) {
  return detail::pair(operation::multiply, u, v);
}
template <int A, int B>
constexpr auto operator/(symbol<A> u, symbol<B> v) {
  return detail::pair(operation::divide, u, v);
}

template <int Rank>
constexpr auto operator*(double a, symbol<Rank> u) {
  return detail::with_number(operation::scale, u, a);
}
template <int Rank>
constexpr auto operator*(symbol<Rank> u, double a) {
  return a * u;
}
template <int Rank>
constexpr auto operator-(symbol<Rank> u) {
  return -1.0 * u;
}
template <int Rank>
constexpr auto operator/(symbol<Rank> u, double a) {
  return detail::with_number(operation::divide_by, u, a);
}
template <int Rank>
constexpr auto operator/(double a, symbol<Rank> u) {
  return detail::with_number(operation::divide_into, u, a);
}
template <int Rank>
constexpr auto operator+(symbol<Rank> u, double a) {
  return detail::with_number(operation::shift, u, a);
}
template <int Rank>
constexpr auto operator+(double a, symbol<Rank> u) {
  return u + a;
}
template <int Rank>
constexpr auto operator-(symbol<Rank> u, double a) {
  return u + -a;
}
template <int Rank>
constexpr auto operator-(double a, symbol<Rank> u) {
  return -u + a;
}

#define ASHLAR_FORMULA_FUNCTION(name)                                                              \
  template <int Rank>                                                                              \
  constexpr symbol<Rank> name(symbol<Rank> u) {                                                    \
    return detail::applied(function::name, u);                                                     \
  }
ASHLAR_FORMULA_FUNCTION(exp)
ASHLAR_FORMULA_FUNCTION(log)
ASHLAR_FORMULA_FUNCTION(sqrt)
ASHLAR_FORMULA_FUNCTION(rsqrt)
ASHLAR_FORMULA_FUNCTION(tanh)
ASHLAR_FORMULA_FUNCTION(sigmoid)
ASHLAR_FORMULA_FUNCTION(silu)
ASHLAR_FORMULA_FUNCTION(erf)
ASHLAR_FORMULA_FUNCTION(abs)
ASHLAR_FORMULA_FUNCTION(relu)
ASHLAR_FORMULA_FUNCTION(gelu)
#undef ASHLAR_FORMULA_FUNCTION

/// Returns each element of u to the power of a, as std::pow.
template <int Rank>
constexpr symbol<Rank> pow(symbol<Rank> u, double a) {
  return detail::with_number(operation::power, u, a);
}

/// Returns the product of u [.., k] and the matrix v [k, n], or of two batches of matrices
/// [.., m, k] and [.., k, n].
template <int A, int B>
constexpr symbol<A> matmul(symbol<A> u, symbol<B> v) {
  static_assert(A == any_rank || B == any_rank || (A >= 2 && (B == 2 || B == A)),
                "formula: matmul takes a tensor of at least two dims and a matrix, or two batches "
                "of matrices of equally many dims.");
  return {u.in, detail::add_product(*u.in, u.node, v.node)};
}

/// Returns the sum of u over dims, which stay with extent 1.
template <int Rank, std::same_as<int>... Dim>
  requires(sizeof...(Dim) > 0)
constexpr symbol<Rank> sum(symbol<Rank> u, Dim... dims) {
  return {u.in, detail::add_sum(*u.in, u.node, detail::dims_of(u, "sum", dims...), 0)};
}
/// Returns the mean of u over dims, which stay with extent 1.
template <int Rank, std::same_as<int>... Dim>
  requires(sizeof...(Dim) > 0)
constexpr symbol<Rank> mean(symbol<Rank> u, Dim... dims) {
  unsigned const mask = detail::dims_of(u, "mean", dims...);
  std::int64_t count = 1;
  shape const& extents = u.in->nodes[u.node].extents;
  for (int d = 0; d < extents.rank(); ++d)
    if ((mask >> d & 1u) != 0) count *= extents[d];
  return sum(u, dims...) / static_cast<double>(count);
}
/// Returns the maximum of u over dims, which stay with extent 1.
template <int Rank, std::same_as<int>... Dim>
  requires(sizeof...(Dim) > 0)
constexpr symbol<Rank> max(symbol<Rank> u, Dim... dims) {
  return {u.in, detail::add_largest(*u.in, u.node, detail::dims_of(u, "max", dims...))};
}
/// Returns the minimum of u over dims, which stay with extent 1.
template <int Rank, std::same_as<int>... Dim>
  requires(sizeof...(Dim) > 0)
constexpr symbol<Rank> min(symbol<Rank> u, Dim... dims) {
  detail::dims_of(u, "min", dims...);
  return -max(-u, dims...);
}

namespace detail {

/// Returns u with its dims in the order `order`. Throws ashlar::error if it is not one of u's dims.
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
/// fastest. A rank must have the dim whole. Throws ashlar::error if their product is not its extent.
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
/// Returns u with its dims First to Last merged into one. A rank must have them whole.
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

/// Throws ashlar::error unless the letters of an operand are as many as its dims.
constexpr void expect_letters(graph const& g, int u, dim_letters const& letters) {
  if (g[u].extents.rank() != letters.length)
    throw error(g.name, "einsum names " + std::to_string(letters.length) + " dims as " +
                            std::string(letters.view()) + " of a tensor " +
                            to_string(g[u].extents) + ".");
}

}  // namespace detail

/// Returns the product of u and v by the letters of Text, as einsum<"bsd,df->bsf">(u, v). A letter that
/// the result lacks is summed over, and must be in both.
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
      if (of.a.text[i] == of.b.text[j] && x[i] != y[j] && x[i] != -1 && y[j] != -1)
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

/// Throws ashlar::error if dim `dim` of u does not have the extent `expected`. The last dim is -1.
template <int Rank>
constexpr void expect_extent(symbol<Rank> u, int dim, std::int64_t expected) {
  int const d = detail::dim_of(u, dim, "expect_extent");
  shape const& extents = u.in->nodes[u.node].extents;
  if (extents[d] != expected)
    throw error(u.in->name, "dim " + std::to_string(d) + " of " + to_string(extents) +
                                " must have the extent " + std::to_string(expected) + ".");
}

// Other ways in which sums of tensors are written.
#define ASHLAR_SAYS_FORMULA_DIM(name)                                                              \
  template <int... Number, int Rank>                                                               \
  constexpr symbol<Rank> name(symbol<Rank> u) {                                                    \
    static_assert(detail::never<symbol<Rank>>,                                                     \
                  "formula: " #name " takes dims as arguments: " #name "(u, 0), or -1 for the "    \
                  "last dim.");                                                                    \
    return u;                                                                                      \
  }
ASHLAR_SAYS_FORMULA_DIM(sum)
ASHLAR_SAYS_FORMULA_DIM(mean)
ASHLAR_SAYS_FORMULA_DIM(max)
ASHLAR_SAYS_FORMULA_DIM(min)
#undef ASHLAR_SAYS_FORMULA_DIM

#define ASHLAR_NO_FORMULA_ASSIGNMENT(op)                                                           \
  template <int Rank, class V>                                                                     \
  constexpr symbol<Rank>& operator op(symbol<Rank>& u, V const&) {                                 \
    static_assert(detail::never<V>,                                                                \
                  "formula: an operator gives a new tensor and changes none, so " #op              \
                  " is not an "                                                                    \
                  "operator of formulas. Write u = u + v.");                                       \
    return u;                                                                                      \
  }
ASHLAR_NO_FORMULA_ASSIGNMENT(+=)
ASHLAR_NO_FORMULA_ASSIGNMENT(-=)
ASHLAR_NO_FORMULA_ASSIGNMENT(*=)
ASHLAR_NO_FORMULA_ASSIGNMENT(/=)
#undef ASHLAR_NO_FORMULA_ASSIGNMENT

// What tensors have and formulas do not. The names are those of ashlar/tensor.
#define ASHLAR_NO_FORMULA_FUNCTION(name)                                                           \
  template <int... Number, int Rank, class... More>                                                \
  constexpr symbol<Rank> name(symbol<Rank> u, More const&...) {                                    \
    static_assert(detail::never<symbol<Rank>, More...>, ASHLAR_SAYS_FORMULA_OPERATOR(#name));      \
    return u;                                                                                      \
  }
ASHLAR_NO_FORMULA_FUNCTION(dot)
ASHLAR_NO_FORMULA_FUNCTION(norm)
ASHLAR_NO_FORMULA_FUNCTION(map)
ASHLAR_NO_FORMULA_FUNCTION(transposed)
ASHLAR_NO_FORMULA_FUNCTION(reshape)
ASHLAR_NO_FORMULA_FUNCTION(slice)
ASHLAR_NO_FORMULA_FUNCTION(concat)
ASHLAR_NO_FORMULA_FUNCTION(redistribute)
#undef ASHLAR_NO_FORMULA_FUNCTION

// max and min are also functions of two tensors, which formulas do not have.
#define ASHLAR_NO_FORMULA_EXTREMUM(name)                                                           \
  template <int Rank, class V>                                                                     \
    requires(!std::same_as<V, int>)                                                                \
  constexpr symbol<Rank> name(symbol<Rank> u, V const&) {                                          \
    static_assert(detail::never<V>, ASHLAR_SAYS_FORMULA_OPERATOR(#name " of two tensors"));        \
    return u;                                                                                      \
  }
ASHLAR_NO_FORMULA_EXTREMUM(max)
ASHLAR_NO_FORMULA_EXTREMUM(min)
#undef ASHLAR_NO_FORMULA_EXTREMUM

}  // namespace ashlar::formulas
