// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise operators and others that act within rows, per axis (d: any dim of the result):
//
//   linear map f(x)         S(d) -> S(d)        B -> B          P -> P
//   other map f(x)          S(d) -> S(d)        B -> B          never on a P: f(a + b) is not f(a) + f(b)
//   add                     S(d), S(d) -> S(d)  B, B -> B       P, P -> P, and with maxima (minima)
//                                                               Pmax, B -> Pmax; never P, B: B would count once per rank
//   multiply                S(d), S(d) -> S(d)  B, B -> B       P, B -> P and B, P -> P
//   transpose               S(d) -> S(new place of d)           B -> B, any P -> the same
//   sum over dim r          S(r) -> P           S(d) -> S(d')   B -> B, P -> P
//   max over dim r          S(r) -> Pmax        S(d) -> S(d')   B -> B, Pmax -> Pmax (min alike)
//   softmax over dim r      S(d), d not r       B -> B
//
// Broadcasting operands (a bias) are written with letters: add_signatures("bsf", "f").

#include <string_view>

#include <ashlar/signature/contraction.hpp>

namespace ashlar {

constexpr signature_table linear_map_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d) table.push_back({{split(d, 0)}, split(d, 0)});
  table.push_back({{partial()}, partial()});
  return table;
}

constexpr signature_table nonlinear_map_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d) table.push_back({{split(d, 0)}, split(d, 0)});
  return table;
}

/// x + y, where y may lack some of x's letters (it is then repeated along them).
constexpr signature_table add_signatures(std::string_view x, std::string_view y) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (char const letter : x)
    table.push_back(
        {{detail::role_of(x, letter), detail::role_of(y, letter)}, detail::role_of(x, letter)});
  table.push_back({{partial(), partial()}, partial()});
  for (auto const op : {reduction::max, reduction::min}) {
    table.push_back({{partial(op), broadcast()}, partial(op)});
    table.push_back({{broadcast(), partial(op)}, partial(op)});
  }
  return table;
}

/// x · y, element by element, where y may lack some of x's letters.
constexpr signature_table multiply_signatures(std::string_view x, std::string_view y) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (char const letter : x)
    table.push_back(
        {{detail::role_of(x, letter), detail::role_of(y, letter)}, detail::role_of(x, letter)});
  table.push_back({{partial(), broadcast()}, partial()});
  table.push_back({{broadcast(), partial()}, partial()});
  return table;
}

/// Result dim i is operand dim order[i].
constexpr signature_table transpose_signatures(inplace_vector<int, max_rank> const& order) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int i = 0; i < order.size(); ++i) table.push_back({{split(order[i], 0)}, split(i, 0)});
  for (auto const op : {reduction::sum, reduction::max, reduction::min})
    table.push_back({{partial(op)}, partial(op)});
  return table;
}

/// Sum, max or min over dim `dim`, which the result lacks.
constexpr signature_table reduce_signatures(int rank, int dim, reduction op) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d)
    table.push_back({{split(d, 0)}, d == dim ? partial(op) : split(d < dim ? d : d - 1, 0)});
  table.push_back({{partial(op)}, partial(op)});
  return table;
}

constexpr signature_table softmax_signatures(int rank, int dim) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d)
    if (d != dim) table.push_back({{split(d, 0)}, split(d, 0)});
  return table;
}

}  // namespace ashlar
