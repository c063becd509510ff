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
//   einsum<"bsd,df->bsf">(u, v)   products and sums by letters, as for tensors
//   einsum<"bsd->sbd">(u)         another order of dims, by letters
//   permute<1, 0, 2>(u)           dims 1, 0 and 2 of u become dims 0, 1 and 2
//   transpose<0, 2>(u)            with dims 0 and 2 swapped; transpose(u) of a matrix
//   split_dim(u, d, {4, 8})       dim d of extent 32 becomes two dims of 4 and 8
//   flatten<1, 2>(u)              dims 1 to 2 become one dim
//
//   expect_extent(u, d, n)        refuses u unless its dim d has extent n
//
// No other operator compiles on symbols. For the other operators of ashlar/tensor.hpp, the
// compiler's message lists the operators of formulas. Extents that do not fit throw ashlar::error.

#include <ashlar/signature/formula/symbol_dims.hpp>

namespace ashlar::formulas {

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

/// Throws ashlar::error if dim `dim` of u does not have the extent `expected`. The last dim is -1.
template <int Rank>
constexpr void expect_extent(symbol<Rank> u, int dim, std::int64_t expected) {
  int const d = detail::dim_of(u, dim, "expect_extent");
  shape const& extents = u.in->nodes[u.node].extents;
  if (extents[d] != expected)
    throw error(u.in->name, "dim " + std::to_string(d) + " of " + to_string(extents) +
                                " must have the extent " + std::to_string(expected) + ".");
}

// On tensors, sum(u), mean(u), max<d>(u) and the like are written without dims or with dims in
// angle brackets. On symbols these forms are compile errors, whose message says how to write them.
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

// Functions of ashlar/tensor that formulas do not have. Calling one on a symbol is a compile error.
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
