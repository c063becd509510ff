// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Operators of tensors that formulas do not have. They are declared for symbols, so that a call of
// one of them is a single compile error. The message of the error says what formulas have instead:
//
//   u < v   equal(u, v)   max(u, v)   argmax<0>(u)   ..
//                                 the operators of formulas, or a layer of your own
//   split_axis<0>(u, {4, 8})   merge_axes<0>(u)   reshape(u, {..})   dot(u, v)   ..
//                                 the operators of formulas that compute the same
//   sum<0>(u)   max<0>(u)   ..    sum(u, 0): the dims are arguments
//   u += v   ..                   u = u + v
//   u | to<..>   redistribute(u, ..)
//                                 nothing: the placements of a formula follow from its operands
//
// symbol.hpp has the operators that formulas have.

#include <concepts>
#include <initializer_list>

#include <ashlar/signature/formula/symbol_type.hpp>

#define ASHLAR_SAYS_FORMULA_OPERATOR(NAME)                                                         \
  "formula: " NAME                                                                                 \
  " is not an operator of formulas. They have + - * / of tensors and numbers, matmul(u, v), "      \
  "einsum, sum, mean, max and min(u, dims..), softmax, permute, transpose, split_dim, flatten, "   \
  "concat, slice, cumulative_sum, where(mask, u, v), take_rows, "                                  \
  "pow(u, number) and exp, log, sqrt, rsqrt, tanh, sigmoid, silu, erf, abs, relu and gelu. Write " \
  "a layer of your own for other operators: see nn/layer.hpp."
#define ASHLAR_SAYS_FORMULA_INSTEAD(NAME, INSTEAD)                                                 \
  "formula: " NAME " is not an operator of formulas. Write " INSTEAD "."
#define ASHLAR_SAYS_FORMULA_MOVES(NAME)                                                            \
  "formula: " NAME                                                                                 \
  " is not an operator of formulas, which communicate nothing. Their operands and the plan of a "  \
  "net say where tensors lie. Redistribute tensors outside of the formula."

namespace ashlar::formulas {

// The macros define functions of symbols. `Number` and `Type` take the template arguments of a
// call. Calls with a list of numbers in braces have overloads of their own, because a template
// cannot deduce the type of such a list.
#define ASHLAR_NO_FORMULA_FUNCTION(name, sentence)                                                 \
  template <int... Number, int Rank, class... More>                                                \
  constexpr symbol<Rank> name(symbol<Rank> u, More const&...) {                                    \
    static_assert(detail::never<symbol<Rank>, More...>, sentence);                                 \
    return u;                                                                                      \
  }
#define ASHLAR_NO_FORMULA_FUNCTION_OF_TYPES(name, sentence)                                        \
  template <class... Type, int Rank, class... More>                                                \
  constexpr symbol<Rank> name(symbol<Rank> u, More const&...) {                                    \
    static_assert(detail::never<symbol<Rank>, More...>, sentence);                                 \
    return u;                                                                                      \
  }
#define ASHLAR_NO_FORMULA_FUNCTION_OF_LISTS(name, kind, sentence)                                  \
  template <kind... Argument, int Rank, class... More>                                             \
  constexpr symbol<Rank> name(symbol<Rank> u, std::initializer_list<std::int64_t>,                 \
                              More const&...) {                                                    \
    static_assert(detail::never<symbol<Rank>, More...>, sentence);                                 \
    return u;                                                                                      \
  }

ASHLAR_NO_FORMULA_FUNCTION(equal, ASHLAR_SAYS_FORMULA_OPERATOR("equal"))
ASHLAR_NO_FORMULA_FUNCTION(argmax, ASHLAR_SAYS_FORMULA_OPERATOR("argmax"))
ASHLAR_NO_FORMULA_FUNCTION(argmin, ASHLAR_SAYS_FORMULA_OPERATOR("argmin"))
ASHLAR_NO_FORMULA_FUNCTION(add_rows, ASHLAR_SAYS_FORMULA_OPERATOR("add_rows"))
ASHLAR_NO_FORMULA_FUNCTION(split_into, ASHLAR_SAYS_FORMULA_OPERATOR("split_into"))
ASHLAR_NO_FORMULA_FUNCTION_OF_LISTS(split_into, int, ASHLAR_SAYS_FORMULA_OPERATOR("split_into"))
ASHLAR_NO_FORMULA_FUNCTION(item, ASHLAR_SAYS_FORMULA_OPERATOR("item"))
ASHLAR_NO_FORMULA_FUNCTION(map, ASHLAR_SAYS_FORMULA_OPERATOR("map"))
ASHLAR_NO_FORMULA_FUNCTION_OF_TYPES(cast, ASHLAR_SAYS_FORMULA_OPERATOR("cast"))

#define ASHLAR_SAYS_NO_RESHAPE                                                                     \
  ASHLAR_SAYS_FORMULA_INSTEAD("reshape", "split_dim(u, d, {4, 8}), or flatten<1, 2>(u)")
ASHLAR_NO_FORMULA_FUNCTION_OF_TYPES(reshape, ASHLAR_SAYS_NO_RESHAPE)
ASHLAR_NO_FORMULA_FUNCTION_OF_LISTS(reshape, class, ASHLAR_SAYS_NO_RESHAPE)
#undef ASHLAR_SAYS_NO_RESHAPE
ASHLAR_NO_FORMULA_FUNCTION_OF_LISTS(split_axis, int,
                                    ASHLAR_SAYS_FORMULA_INSTEAD("split_axis",
                                                                "split_dim(u, d, {4, 8})"))
ASHLAR_NO_FORMULA_FUNCTION(merge_axes,
                           ASHLAR_SAYS_FORMULA_INSTEAD("merge_axes", "flatten<0, 1>(u)"))
ASHLAR_NO_FORMULA_FUNCTION(transposed, ASHLAR_SAYS_FORMULA_INSTEAD("transposed", "transpose(u)"))
ASHLAR_NO_FORMULA_FUNCTION(dot, ASHLAR_SAYS_FORMULA_INSTEAD("dot", "sum(u * v, dims..)"))
ASHLAR_NO_FORMULA_FUNCTION(norm, ASHLAR_SAYS_FORMULA_INSTEAD("norm", "sqrt(sum(u * u, dims..))"))
ASHLAR_NO_FORMULA_FUNCTION(redistribute, ASHLAR_SAYS_FORMULA_MOVES("redistribute"))

#undef ASHLAR_NO_FORMULA_FUNCTION
#undef ASHLAR_NO_FORMULA_FUNCTION_OF_TYPES
#undef ASHLAR_NO_FORMULA_FUNCTION_OF_LISTS

/// Refuses u | to<...>.
template <int Rank, class To>
constexpr symbol<Rank> operator|(symbol<Rank> u, To const&) {
  static_assert(detail::never<To>, ASHLAR_SAYS_FORMULA_MOVES("u | to<...>"));
  return u;
}

/// Refuses map(f, u, v..), whose first argument is a function.
template <class F, int Rank, class... More>
  requires(!is_symbol<F>)
constexpr symbol<Rank> map(F const&, symbol<Rank> u, More const&...) {
  static_assert(detail::never<F>, ASHLAR_SAYS_FORMULA_OPERATOR("map"));
  return u;
}

// Comparisons of two tensors, or of a tensor and a number.
#define ASHLAR_NO_FORMULA_COMPARISON(op)                                                           \
  template <int Rank, class V>                                                                     \
  constexpr symbol<Rank> operator op(symbol<Rank> u, V const&) {                                   \
    static_assert(detail::never<V>, ASHLAR_SAYS_FORMULA_OPERATOR(#op));                            \
    return u;                                                                                      \
  }                                                                                                \
  template <class Number, int Rank>                                                                \
    requires(!is_symbol<Number>)                                                                   \
  constexpr symbol<Rank> operator op(Number const&, symbol<Rank> u) {                              \
    static_assert(detail::never<Number>, ASHLAR_SAYS_FORMULA_OPERATOR(#op));                       \
    return u;                                                                                      \
  }
ASHLAR_NO_FORMULA_COMPARISON(<)
ASHLAR_NO_FORMULA_COMPARISON(<=)
ASHLAR_NO_FORMULA_COMPARISON(>)
ASHLAR_NO_FORMULA_COMPARISON(>=)
#undef ASHLAR_NO_FORMULA_COMPARISON

// max and min of two tensors, or of a tensor and a number. But max(u, 0), where 0 is an int, is
// permitted: it is the maximum over dim 0.
#define ASHLAR_NO_FORMULA_EXTREMUM(name)                                                           \
  template <int Rank, class V>                                                                     \
    requires(!std::same_as<V, int>)                                                                \
  constexpr symbol<Rank> name(symbol<Rank> u, V const&) {                                          \
    static_assert(detail::never<V>, ASHLAR_SAYS_FORMULA_OPERATOR(#name " of two operands"));       \
    return u;                                                                                      \
  }                                                                                                \
  template <class Number, int Rank>                                                                \
    requires(!is_symbol<Number>)                                                                   \
  constexpr symbol<Rank> name(Number const&, symbol<Rank> u) {                                     \
    static_assert(detail::never<Number>, ASHLAR_SAYS_FORMULA_OPERATOR(#name " of two operands"));  \
    return u;                                                                                      \
  }
ASHLAR_NO_FORMULA_EXTREMUM(max)
ASHLAR_NO_FORMULA_EXTREMUM(min)
#undef ASHLAR_NO_FORMULA_EXTREMUM

// On tensors, sum(u), mean(u), max<d>(u) and the like are written without dims or with dims in
// angle brackets. On symbols these forms are compile errors, and the message of the error says how
// to write them.
#define ASHLAR_NO_FORMULA_DIM(name)                                                                \
  template <int... Number, int Rank>                                                               \
  constexpr symbol<Rank> name(symbol<Rank> u) {                                                    \
    static_assert(detail::never<symbol<Rank>>,                                                     \
                  "formula: " #name " takes dims as arguments: " #name "(u, 0), or -1 for the "    \
                  "last dim.");                                                                    \
    return u;                                                                                      \
  }
ASHLAR_NO_FORMULA_DIM(sum)
ASHLAR_NO_FORMULA_DIM(mean)
ASHLAR_NO_FORMULA_DIM(max)
ASHLAR_NO_FORMULA_DIM(min)
#undef ASHLAR_NO_FORMULA_DIM

#define ASHLAR_NO_FORMULA_ASSIGNMENT(op)                                                           \
  template <int Rank, class V>                                                                     \
  constexpr symbol<Rank>& operator op(symbol<Rank>& u, V const&) {                                 \
    static_assert(detail::never<V>,                                                                \
                  "formula: an operator gives a new tensor and changes none, so " #op              \
                  " is not an operator of formulas. Write u = u + v.");                            \
    return u;                                                                                      \
  }
ASHLAR_NO_FORMULA_ASSIGNMENT(+=)
ASHLAR_NO_FORMULA_ASSIGNMENT(-=)
ASHLAR_NO_FORMULA_ASSIGNMENT(*=)
ASHLAR_NO_FORMULA_ASSIGNMENT(/=)
#undef ASHLAR_NO_FORMULA_ASSIGNMENT

}  // namespace ashlar::formulas
