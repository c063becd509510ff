// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of element-wise operators, transposes, reductions and softmax. A row
// says with which placements of its operands an operator is local on one mesh axis. d is any dim of
// the operand (of a reduction over dims r: any dim not in r), and d' is the same dim in the result:
//
//   linear map f(x)     S(d) -> S(d)        B -> B        P -> P
//   other map f(x)      S(d) -> S(d)        B -> B        not P, as f(a + b) is not f(a) + f(b)
//   add                 S(d), S(d) -> S(d)  B, B -> B     P, P -> P
//                       Pmax, B -> Pmax     B, Pmax -> Pmax, and the same with Pmin
//                                           not P, B: every rank would add the B operand, so the
//                                           sum over the ranks would contain it several times
//   multiply            S(d), S(d) -> S(d)  B, B -> B     P, B -> P and B, P -> P
//   divide              S(d), S(d) -> S(d)  B, B -> B     P, B -> P
//   dot                 S(d), S(d) -> P     B, B -> B     P, B -> P and B, P -> P
//   sum of squares      S(d) -> P           B -> B        not P
//   any f(x, y)         S(d), S(d) -> S(d)  B, B -> B     not P
//   transpose           S(d) -> S(d')       B -> B        P -> P, Pmax -> Pmax, Pmin -> Pmin
//   sum over dims r     S(r) -> P           B -> B        S(d) -> S(d'), P -> P
//   max over dims r     S(r) -> Pmax        B -> B        S(d) -> S(d'), Pmax -> Pmax
//   min over dims r     S(r) -> Pmin        B -> B        S(d) -> S(d'), Pmin -> Pmin
//   softmax over dim r  S(d) -> S(d)        B -> B        not S(r)
//   sum by letters      S(d) -> S(d')       B -> B        P -> P; a split of a summed dim -> P
//   repeat by letters   S(d) -> S(d')       B -> B        P -> P; B -> a split of a repeated dim
//
// An operator in place (x += y) writes its result to the shard of x. So it has only the rows in
// which the result has the placement of x. in_place_signatures selects these rows of a table.
//
// An operand may be repeated along some dims of the result, as a bias is repeated for each row of a
// matrix. Letters for the dims express this, as in einsum: add_signatures("bsf", "f"), or
// add_signatures("m", "n", "mn").

#include <string_view>

#include <ashlar/signature/contraction.hpp>

namespace ashlar {

constexpr signature_table nonlinear_map_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d) table.push_back({{split(d, 0)}, split(d, 0)});
  return table;
}

constexpr signature_table linear_map_signatures(int rank) {
  auto table = nonlinear_map_signatures(rank);
  table.push_back({{partial()}, partial()});
  return table;
}

/// Returns the rows that hold for every function of two operands, with dims given by letters. In a
/// row, one letter is split on each operand that has it, or both operands are B. An operand that
/// lacks letters of the result is repeated along these dims. A dim of extent 1 that is repeated has
/// the letter '1'.
constexpr signature_table alike_signatures(std::string_view x, std::string_view y,
                                           std::string_view out) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  for (char const letter : out)
    table.push_back(
        {{detail::role_of(x, letter), detail::role_of(y, letter)}, detail::role_of(out, letter)});
  return table;
}

/// Returns the rows that hold for every function of two operands with the same extents: both have
/// the same split, or both are B. A function of more operands uses this table for each pair of the
/// first operand and another one.
constexpr signature_table alike_signatures(int rank) {
  signature_table table;
  for (auto const& row : nonlinear_map_signatures(rank))
    table.push_back({{row.in[0], row.in[0]}, row.out});
  return table;
}

/// Returns the signature table of x + y. Letters name the dims, in the same way as the arguments of
/// alike_signatures.
constexpr signature_table add_signatures(std::string_view x, std::string_view y,
                                         std::string_view out) {
  auto table = alike_signatures(x, y, out);
  table.push_back({{partial(), partial()}, partial()});
  for (auto const op : {reduction::max, reduction::min}) {
    table.push_back({{partial(op), broadcast()}, partial(op)});
    table.push_back({{broadcast(), partial(op)}, partial(op)});
  }
  return table;
}

constexpr signature_table add_signatures(std::string_view x, std::string_view y) {
  return add_signatures(x, y, x);
}

/// Returns the signature table of the element-wise product x · y. Letters name the dims, in the
/// same way as the arguments of alike_signatures.
constexpr signature_table multiply_signatures(std::string_view x, std::string_view y,
                                              std::string_view out) {
  auto table = alike_signatures(x, y, out);
  table.push_back({{partial(), broadcast()}, partial()});
  table.push_back({{broadcast(), partial()}, partial()});
  return table;
}

constexpr signature_table multiply_signatures(std::string_view x, std::string_view y) {
  return multiply_signatures(x, y, x);
}

/// Returns the signature table of the element-wise quotient x / y. Letters name the dims, in the
/// same way as the arguments of multiply_signatures.
constexpr signature_table divide_signatures(std::string_view x, std::string_view y,
                                            std::string_view out) {
  signature_table table;
  for (auto const& row : multiply_signatures(x, y, out))
    if (!row.in[1].is_partial()) table.push_back(row);
  return table;
}
constexpr signature_table divide_signatures(std::string_view x, std::string_view y) {
  return divide_signatures(x, y, x);
}

/// Returns the rows of `table` whose result has the placement of the first operand.
constexpr signature_table in_place_signatures(signature_table const& table) {
  signature_table kept;
  for (auto const& row : table)
    if (row.out == row.in[0]) kept.push_back(row);
  return kept;
}

/// Returns the signature table of a transpose. Dim i of the result is dim order[i] of the operand.
constexpr signature_table transpose_signatures(inplace_vector<int, max_rank> const& order) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int i = 0; i < order.size(); ++i) table.push_back({{split(order[i], 0)}, split(i, 0)});
  for (auto const op : {reduction::sum, reduction::max, reduction::min})
    table.push_back({{partial(op)}, partial(op)});
  return table;
}

/// Returns the signature table of a sum, maximum or minimum over the dims `dims`, which the result
/// lacks.
constexpr signature_table reduce_signatures(int rank, inplace_vector<int, max_rank> const& dims,
                                            reduction op) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  int kept = 0;
  for (int d = 0; d < rank; ++d) {
    auto const out = dims.contains(d) ? partial(op) : split(kept++, 0);
    table.push_back({{split(d, 0)}, out});
  }
  table.push_back({{partial(op)}, partial(op)});
  return table;
}

/// Returns the signature table of the sum of x over the dims whose letters `out` lacks. A dim that
/// the sum leaves with extent 1 has the letter '1' in `out`.
constexpr signature_table sum_signatures(std::string_view x, std::string_view out) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (char const letter : x) {
    auto const result = detail::role_of(out, letter);
    table.push_back({{detail::role_of(x, letter)}, result.is_split() ? result : partial()});
  }
  table.push_back({{partial()}, partial()});
  return table;
}

/// Returns the signature table of x repeated along the dims of `out` whose letters x lacks. A dim
/// of extent 1 that is repeated has the letter '1' in x. A rank that has all of x can repeat it as
/// often as its shard of the result needs. So if x is B, the result may be B or split along a
/// repeated dim, and the table has a row for each case.
constexpr signature_table repeat_signatures(std::string_view x, std::string_view out) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (char const letter : out)
    table.push_back({{detail::role_of(x, letter)}, detail::role_of(out, letter)});
  table.push_back({{partial()}, partial()});
  return table;
}

/// Returns the signature table of the inner product of two tensors: the sum of x · y over all
/// elements. `letters` are the dims of both tensors. The result has no dims.
constexpr signature_table dot_signatures(std::string_view letters) {
  return contraction_signatures(letters, letters, "");
}

/// Returns the signature table of the sum of the squares of all elements.
constexpr signature_table sum_of_squares_signatures(int rank) {
  signature_table table;
  table.push_back({{broadcast()}, broadcast()});
  for (int d = 0; d < rank; ++d) table.push_back({{split(d, 0)}, partial()});
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
