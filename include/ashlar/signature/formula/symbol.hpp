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
//   sum(u, d)  mean(u, d)         over dim d, which stays with extent 1; d = -1 is the last dim
//
//   expect_extent(u, d, n)        refuses u unless its dim d has extent n
//
// Nothing else compiles on symbols. For other operators of ashlar/tensor.hpp the compiler says
// which ones formulas have. Extents that do not fit throw ashlar::error.

#include <concepts>
#include <type_traits>

#include <ashlar/signature/formula/graph.hpp>

#define ASHLAR_SAYS_FORMULA_OPERATOR(NAME)                                                         \
  "formula: " NAME                                                                                 \
  " is not an operator of formulas. They have + - * / of tensors and numbers, matmul(u, v), "      \
  "sum(u, dim), mean(u, dim), pow(u, number) and exp, log, sqrt, rsqrt, tanh, sigmoid, silu, "     \
  "erf, abs, relu and gelu. Write a layer of your own for other operators: see nn/layer.hpp."

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

/// Returns the sum of u over dim `dim`, which stays with extent 1.
template <int Rank>
constexpr symbol<Rank> sum(symbol<Rank> u, int dim) {
  int const d = detail::dim_of(u, dim, "sum");
  return {u.in, detail::add_sum(*u.in, u.node, 1u << d, 0)};
}
/// Returns the mean of u over dim `dim`, which stays with extent 1.
template <int Rank>
constexpr symbol<Rank> mean(symbol<Rank> u, int dim) {
  int const d = detail::dim_of(u, dim, "mean");
  return sum(u, d) / static_cast<double>(u.in->nodes[u.node].extents[d]);
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
                  "formula: " #name " takes the dim as an argument: " #name                        \
                  "(u, 0), or -1 for the "                                                         \
                  "last dim.");                                                                    \
    return u;                                                                                      \
  }
ASHLAR_SAYS_FORMULA_DIM(sum)
ASHLAR_SAYS_FORMULA_DIM(mean)
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
ASHLAR_NO_FORMULA_FUNCTION(softmax)
ASHLAR_NO_FORMULA_FUNCTION(max)
ASHLAR_NO_FORMULA_FUNCTION(min)
ASHLAR_NO_FORMULA_FUNCTION(dot)
ASHLAR_NO_FORMULA_FUNCTION(norm)
ASHLAR_NO_FORMULA_FUNCTION(map)
ASHLAR_NO_FORMULA_FUNCTION(permute)
ASHLAR_NO_FORMULA_FUNCTION(transpose)
ASHLAR_NO_FORMULA_FUNCTION(transposed)
ASHLAR_NO_FORMULA_FUNCTION(reshape)
ASHLAR_NO_FORMULA_FUNCTION(slice)
ASHLAR_NO_FORMULA_FUNCTION(concat)
ASHLAR_NO_FORMULA_FUNCTION(redistribute)
#undef ASHLAR_NO_FORMULA_FUNCTION

}  // namespace ashlar::formulas
