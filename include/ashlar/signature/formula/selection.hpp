// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Adds operators that choose, join or sum up elements to the graph of a formula: concat, slice,
// take_rows and their gradients. graph.hpp says what they compute.

#include <ashlar/signature/formula/graph.hpp>

namespace ashlar::formulas::detail {

/// Returns the letters of `rank` dims, with the letter `changed` for dim `dim`.
constexpr dim_letters letters_with(int rank, int dim, char changed) {
  auto letters = first_letters(rank);
  letters.text[dim] = changed;
  return letters;
}

/// Adds the concatenation of nodes a and b along dim `dim`. Throws ashlar::error if the extents of
/// another dim differ.
constexpr int add_join(graph& g, int a, int b, int dim) {
  shape const x = g[a].extents, y = g[b].extents;
  node n;
  n.what = operation::join;
  n.a = a;
  n.b = b;
  n.extents = x;
  bool fits = x.rank() == y.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == dim || may_be_equal(x[d], y[d]);
  if (!fits)
    throw error(g.name, "concat along dim " + std::to_string(dim) + " of " + to_string(x) +
                            " and " + to_string(y) +
                            ": only the extents of the joined dim may differ.");
  n.extents.extent[dim] = x[dim] == -1 || y[dim] == -1 ? -1 : x[dim] + y[dim];
  n.in_a = letters_with(x.rank(), dim, 'A');
  n.in_b = letters_with(x.rank(), dim, 'B');
  n.out = letters_with(x.rank(), dim, 'C');
  return g.add(n);
}

/// Adds a part of node a, whose dims have the letters `joined` of a join's result. The part has the
/// letters `part` and the given extents. It is the first part of a if `which` is 0, and the last
/// part if `which` is 1.
constexpr int add_part(graph& g, int a, dim_letters const& joined, dim_letters const& part,
                       int which, shape const& extents) {
  return add_with_dims(g, operation::part, a, joined, part, extents, which);
}

/// Adds a slice of node a: the indices [begin, begin + size) of dim `dim`. Throws ashlar::error if
/// a does not have these indices, or if `size` is below 1.
constexpr int add_slice(graph& g, int a, int dim, std::int64_t begin, std::int64_t size) {
  shape const x = g[a].extents;
  if (begin < 0 || size < 1 || (x[dim] != -1 && (begin > x[dim] || size > x[dim] - begin)))
    throw error(g.name, "slice of " + to_string(x) + ": the range [" + std::to_string(begin) +
                            ", " + std::to_string(begin) + " + " + std::to_string(size) +
                            ") of dim " + std::to_string(dim) + " is empty or not within 0 and " +
                            std::to_string(x[dim]) + ".");
  node n;
  n.what = operation::slice;
  n.a = a;
  n.number = static_cast<double>(begin);
  n.extents = x;
  n.extents.extent[dim] = size;
  n.in_a = letters_with(x.rank(), dim, 'C');
  n.out = letters_with(x.rank(), dim, 'A');
  return g.add(n);
}

/// Adds the operator `what`, which makes the gradient of operand a of node `of` from `dz`, the
/// gradient of the node's result. The operator has the number and the operand b of the node. Its
/// operand has the dims of the node's result, and its result has the dims of the node's operand.
constexpr int add_adjoint(graph& g, operation what, int dz, node const& of) {
  node n;
  n.what = what;
  n.a = dz;
  n.b = of.b;
  n.number = of.number;
  n.extents = g[of.a].extents;
  n.in_a = of.out;
  n.in_b = of.in_b;
  n.out = of.in_a;
  return g.add(n);
}

/// Adds the rows of node `table` whose numbers are the elements of node `ids`. The table has the
/// dims [rows, columns..], and the result [the dims of ids.., columns..]. Throws ashlar::error if
/// the table has no dims, or if the result would have more than max_rank dims.
constexpr int add_taken_rows(graph& g, int table, int ids) {
  shape const x = g[table].extents, numbers = g[ids].extents;
  if (x.rank() == 0 || x.rank() - 1 + numbers.rank() > max_rank)
    throw error(g.name, "take_rows of " + to_string(x) + " and ids " + to_string(numbers) +
                            ": the table needs a dim of rows, and the result has at most " +
                            std::to_string(max_rank) + " dims.");
  node n;
  n.what = operation::take_rows;
  n.a = table;
  n.b = ids;
  n.extents = numbers;
  n.in_b = first_letters(numbers.rank());
  n.in_a.push_back('A');
  n.out = n.in_b;
  for (int d = 1; d < x.rank(); ++d) {
    char const letter = static_cast<char>('A' + d);
    n.in_a.push_back(letter);
    n.out.push_back(letter);
    n.extents.extent.push_back(x[d]);
  }
  return g.add(n);
}

}  // namespace ashlar::formulas::detail
