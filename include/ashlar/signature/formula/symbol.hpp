// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A function becomes a formula by one call with symbols as arguments. A symbol stands for a tensor
// of `Rank` dims. An operator on symbols computes nothing; it adds a node to the formula's graph
// and returns the symbol of its result.
//
//   u + v  u - v  u * v  u / v    operands may be repeated along dims, which are matched from the
//                                 last one on: [batch, features] * [features]
//   u + a  a - u  a * u  u / a  -u  ..    with a number a
//   matmul(u, v)                  u [.., k] times v [k, n], or a batch [.., k, n] of matrices
//   exp log sqrt rsqrt tanh sigmoid silu erf abs relu gelu (u)    of each element
//   pow(u, a)                     each element to the power of the number a
//   sum(u, d..)  mean(u, d..)     over the dims d.., which stay with extent 1; -1 is the last dim
//   max(u, d..)  min(u, d..)      over the dims d.., as sum; equal maxima share the gradient
//   softmax(u)  softmax(u, d)     along the last dim, or along dim d
//   einsum<"bsd,df->bsf">(u, v)   products and sums by letters, as for tensors
//   einsum<"bsd->sbd">(u)         another order of dims, by letters
//   permute<1, 0, 2>(u)           dims 1, 0 and 2 of u become dims 0, 1 and 2
//   transpose<0, 2>(u)            u with dims 0 and 2 swapped; transpose(u) is for matrices
//   split_dim(u, d, {4, 8})       dim d of extent 32 becomes two dims of 4 and 8
//   flatten<1, 2>(u)              dims 1 to 2 become one dim
//   concat<0>(u, v, ..)           u, v, .. joined along dim 0, which no mesh axis may split
//   slice<0>(u, begin, size)      the indices [begin, begin + size) of dim 0, which no mesh axis
//                                 may split
//   cumulative_sum<0>(u)          along dim 0, which no mesh axis may split
//   where(m, u, v)                u where the mask m is not 0, and v elsewhere; u or v may be a
//                                 number. A mask has the gradient 0.
//   take_rows(u, ids)             the rows of the table u [rows, columns..] whose numbers are ids;
//                                 no mesh axis may split the rows of the table. ids have the
//                                 gradient 0.
//
//   expect_extent(u, d, n)        refuses u unless its dim d has extent n
//
// No other operator compiles on symbols. refused_operators.hpp has the other operators of
// ashlar/tensor.hpp, and what the compiler says of them. A function may write operators on symbols
// without a namespace, or with the namespace of those on tensors: ashlar::matmul(u, v). Extents
// that do not fit throw ashlar::error.

#include <ashlar/signature/formula/refused_operators.hpp>
#include <ashlar/signature/formula/symbol_choices.hpp>
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

/// Returns each element of u raised to the power a, as std::pow does.
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

/// Throws ashlar::error if dim `dim` of u does not have the extent `expected`. A `dim` of -1 is the
/// last dim.
template <int Rank>
constexpr void expect_extent(symbol<Rank> u, int dim, std::int64_t expected) {
  int const d = detail::dim_of(u, dim, "expect_extent");
  shape const& extents = u.in->nodes[u.node].extents;
  if (!may_be_equal(extents[d], expected))
    throw error(u.in->name, "dim " + std::to_string(d) + " of " + to_string(extents) +
                                " must have the extent " + std::to_string(expected) + ".");
}

}  // namespace ashlar::formulas

namespace ashlar {

// These declarations let a function write ashlar::matmul(u, v) and the like for symbols, too.
using formulas::exp, formulas::log, formulas::sqrt, formulas::rsqrt, formulas::tanh,
    formulas::sigmoid, formulas::silu, formulas::erf, formulas::abs, formulas::relu, formulas::gelu,
    formulas::pow, formulas::matmul, formulas::sum, formulas::mean, formulas::max, formulas::min,
    formulas::softmax, formulas::einsum, formulas::permute, formulas::transpose,
    formulas::split_dim, formulas::flatten, formulas::expect_extent, formulas::where,
    formulas::equal, formulas::argmax, formulas::argmin, formulas::cumulative_sum,
    formulas::take_rows, formulas::add_rows, formulas::slice, formulas::concat,
    formulas::split_into, formulas::item, formulas::map, formulas::cast, formulas::reshape,
    formulas::split_axis, formulas::merge_axes, formulas::transposed, formulas::dot, formulas::norm,
    formulas::redistribute;

}  // namespace ashlar
