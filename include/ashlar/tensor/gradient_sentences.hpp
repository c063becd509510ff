// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The compiler errors of gradient.hpp about an operator that is not local. The operator is part of
// the function of typed tensors, or of its gradient. Each sentence names the operator.

#include <ashlar/signature/formula/graph.hpp>

#define ASHLAR_SAYS_GRADIENT_PARTIAL(NAME)                                                         \
  "gradient: the function applies a non-linear function, " NAME                                    \
  ", to a partial tensor. Reduce the operand first, as in x | to<B, ...>."
#define ASHLAR_SAYS_GRADIENT_MOVES(NAME)                                                           \
  "gradient: " NAME                                                                                \
  " of the function or of its gradient needs communication. The operands of an operator must lie " \
  "alike, or one partial and one whole in a product, and a dim along which it works must be "      \
  "whole."

namespace ashlar::detail {

/// Returns whether say_gradient_fault names the function.
constexpr bool has_gradient_sentence(formulas::function f) {
  using formulas::function;
  switch (f) {
    case function::exp:
    case function::log:
    case function::sqrt:
    case function::rsqrt:
    case function::tanh:
    case function::sigmoid:
    case function::silu:
    case function::erf:
    case function::abs:
    case function::relu:
    case function::gelu: return true;
  }
  return false;
}

/// Returns whether say_gradient_fault names the operator of the node, or the node is a leaf.
constexpr bool has_gradient_sentence(formulas::node const& n) {
  using formulas::operation;
  switch (n.what) {
    case operation::input:
    case operation::output_gradient:
    case operation::weight:
    case operation::target:
    case operation::scale:
    case operation::divide_by:
    case operation::shift:
    case operation::divide_into:
    case operation::power:
    case operation::power_gradient:
    case operation::apply_gradient:
    case operation::add:
    case operation::subtract:
    case operation::multiply:
    case operation::divide:
    case operation::contract:
    case operation::sum:
    case operation::largest:
    case operation::equal:
    case operation::softmax:
    case operation::permute:
    case operation::reshape:
    case operation::repeat:
    case operation::keep:
    case operation::drop:
    case operation::cumulate:
    case operation::join:
    case operation::part:
    case operation::take_rows:
    case operation::add_rows:
    case operation::slice:
    case operation::pad: return true;
    case operation::apply: return has_gradient_sentence(n.f);
  }
  return false;
}

/// Fails to compile with a sentence that names the operator `Known::failing`, which is not local.
/// Compiles if all operators are local: `Known::failing` is then a default node, which is a leaf.
template <class Known>
constexpr void say_gradient_fault() {
  using formulas::function, formulas::operation;
  constexpr auto what = Known::failing.what;
  constexpr auto f = Known::failing.f;
  static_assert(what != operation::apply || f != function::exp,
                ASHLAR_SAYS_GRADIENT_PARTIAL("exp"));
  static_assert(what != operation::apply || f != function::log,
                ASHLAR_SAYS_GRADIENT_PARTIAL("log"));
  static_assert(what != operation::apply || f != function::sqrt,
                ASHLAR_SAYS_GRADIENT_PARTIAL("sqrt"));
  static_assert(what != operation::apply || f != function::rsqrt,
                ASHLAR_SAYS_GRADIENT_PARTIAL("rsqrt"));
  static_assert(what != operation::apply || f != function::tanh,
                ASHLAR_SAYS_GRADIENT_PARTIAL("tanh"));
  static_assert(what != operation::apply || f != function::sigmoid,
                ASHLAR_SAYS_GRADIENT_PARTIAL("sigmoid"));
  static_assert(what != operation::apply || f != function::silu,
                ASHLAR_SAYS_GRADIENT_PARTIAL("silu"));
  static_assert(what != operation::apply || f != function::erf,
                ASHLAR_SAYS_GRADIENT_PARTIAL("erf"));
  static_assert(what != operation::apply || f != function::abs,
                ASHLAR_SAYS_GRADIENT_PARTIAL("abs"));
  static_assert(what != operation::apply || f != function::relu,
                ASHLAR_SAYS_GRADIENT_PARTIAL("relu"));
  static_assert(what != operation::apply || f != function::gelu,
                ASHLAR_SAYS_GRADIENT_PARTIAL("gelu"));
  static_assert(what != operation::power, ASHLAR_SAYS_GRADIENT_PARTIAL("pow"));
  static_assert(what != operation::shift, ASHLAR_SAYS_GRADIENT_PARTIAL("u + a"));
  static_assert(what != operation::divide_into, ASHLAR_SAYS_GRADIENT_PARTIAL("a / u"));
  static_assert(what != operation::contract,
                "gradient: a matmul or einsum of the function or of its gradient needs "
                "communication. Split the operands so that it is local: see matmul in "
                "docs/03_products.md.");
  static_assert(what != operation::scale, ASHLAR_SAYS_GRADIENT_MOVES("a * u"));
  static_assert(what != operation::divide_by, ASHLAR_SAYS_GRADIENT_MOVES("u / a"));
  static_assert(what != operation::add, ASHLAR_SAYS_GRADIENT_MOVES("u + v"));
  static_assert(what != operation::subtract, ASHLAR_SAYS_GRADIENT_MOVES("u - v"));
  static_assert(what != operation::multiply, ASHLAR_SAYS_GRADIENT_MOVES("u * v"));
  static_assert(what != operation::divide, ASHLAR_SAYS_GRADIENT_MOVES("u / v"));
  static_assert(what != operation::sum, ASHLAR_SAYS_GRADIENT_MOVES("sum"));
  static_assert(what != operation::largest, ASHLAR_SAYS_GRADIENT_MOVES("max"));
  static_assert(what != operation::softmax, ASHLAR_SAYS_GRADIENT_MOVES("softmax"));
  static_assert(what != operation::permute, ASHLAR_SAYS_GRADIENT_MOVES("permute"));
  static_assert(what != operation::reshape, ASHLAR_SAYS_GRADIENT_MOVES("split_dim or flatten"));
  static_assert(what != operation::keep, ASHLAR_SAYS_GRADIENT_MOVES("where"));
  static_assert(what != operation::drop, ASHLAR_SAYS_GRADIENT_MOVES("where"));
  static_assert(what != operation::cumulate, ASHLAR_SAYS_GRADIENT_MOVES("cumulative_sum"));
  static_assert(what != operation::join, ASHLAR_SAYS_GRADIENT_MOVES("concat"));
  static_assert(what != operation::take_rows, ASHLAR_SAYS_GRADIENT_MOVES("take_rows"));
  static_assert(what != operation::slice, ASHLAR_SAYS_GRADIENT_MOVES("slice"));
  static_assert(what != operation::power_gradient && what != operation::apply_gradient &&
                    what != operation::equal && what != operation::repeat &&
                    what != operation::part && what != operation::add_rows &&
                    what != operation::pad,
                ASHLAR_SAYS_GRADIENT_MOVES("the gradient of an operator"));
  static_assert(has_gradient_sentence(Known::failing), ASHLAR_SAYS_GRADIENT_MOVES("an operator"));
}

}  // namespace ashlar::detail
