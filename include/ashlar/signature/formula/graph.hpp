// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A formula as a value: the list of its operators. Each node is one operator with its operands,
// which are earlier nodes, and with the extents of its result. A graph knows no placement and
// computes nothing. Its rules and its costs follow from its nodes:
//
//   symbol.hpp     builds a graph from a function that is called with symbols
//   adjoint.hpp    adds the gradient, which consists of operators of the same kinds
//   rows.hpp       the signature table of each node, and the training rows of the whole formula
//   placements.hpp the placements of all tensors, on all axes of a mesh
//   passes.hpp     what a forward and a backward pass compute, keep and compute again
//
// Equal nodes exist once, so a formula that writes x * x twice computes it once. A graph is small
// and can be used in constant expressions.

#include <string>
#include <string_view>

#include <ashlar/signature/dim_letters.hpp>
#include <ashlar/signature/training_row.hpp>

namespace ashlar::formulas {

/// The operators of formulas. Numbers are written as a, tensors as u and v.
///
///   input output_gradient weight   the tensors that a pass gets: x, the gradient of y, parameter k
///   target         the targets of a loss; they are placed like x, and have no gradient
///   scale          a u             divide_by   u / a
///   shift          u + a           divide_into a / u
///   power          u^a             power_gradient  v a u^(a - 1), where v is the gradient of u^a
///   apply          f(u)            apply_gradient  v f'(u), where v is the gradient of f(u)
///   add subtract multiply divide   of two tensors, of which each may be repeated along dims
///   contract       the products of u and v, summed over the dims whose letters the result lacks
///   sum            the sum over dims that the result lacks, or has with extent 1
///   largest        the maximum over dims that the result has with extent 1
///   equal          1 where u = v and 0 elsewhere; has no gradient, so only gradients use it
///   softmax        of each row of the last dim
///   permute        u with its dims in another order
///   reshape        u with some neighbouring dims divided or merged, in the order of its elements
///   repeat         u repeated to the extents of node b; the values of b are not used
///   keep drop      u where v is not 0, or where v is 0, and 0 elsewhere; v has no gradient
///   cumulate       the sums of u up to each element of the last dim, or from each element on if
///                  the number is -1
///   join           u and v one after the other along a dim with the letter A in u, B in v and C in
///                  the result
///   part           the first part of u along the dim with the letter C, or the last part if
///                  `weight` is 1; only gradients use it
///   take_rows      the rows of u whose numbers are the elements of v, which has no gradient
///   add_rows       the sums of the rows of u with equal numbers, which are the elements of v; only
///                  gradients use it
///   slice          some neighbouring indices of u along the dim with the letter C; the number is
///                  the first of them
///   pad            zeros, with u at the indices from the number on, along the dim with the letter
///                  C; only gradients use it
enum class operation : signed char {
  input,
  output_gradient,
  weight,
  target,
  scale,
  divide_by,
  shift,
  divide_into,
  power,
  power_gradient,
  apply,
  apply_gradient,
  add,
  subtract,
  multiply,
  divide,
  contract,
  sum,
  largest,
  equal,
  softmax,
  permute,
  reshape,
  repeat,
  keep,
  drop,
  cumulate,
  join,
  part,
  take_rows,
  add_rows,
  slice,
  pad
};

/// The functions of one number that formulas can apply. device/functor.hpp and device/function.hpp
/// define them.
enum class function : signed char {
  exp,
  log,
  sqrt,
  rsqrt,
  tanh,
  sigmoid,
  silu,
  erf,
  abs,
  relu,
  gelu
};

/// Returns the name of an operator in error messages.
constexpr char const* to_string(function f) {
  constexpr char const* names[] = {"exp",  "log", "sqrt", "rsqrt", "tanh", "sigmoid",
                                   "silu", "erf", "abs",  "relu",  "gelu"};
  return names[static_cast<int>(f)];
}
constexpr char const* to_string(operation what) {
  constexpr char const* names[] = {"x",
                                   "the gradient of y",
                                   "a weight",
                                   "the target",
                                   "a * u",
                                   "u / a",
                                   "u + a",
                                   "a / u",
                                   "pow",
                                   "the gradient of pow",
                                   "apply",
                                   "a gradient",
                                   "u + v",
                                   "u - v",
                                   "u * v",
                                   "u / v",
                                   "matmul",
                                   "sum",
                                   "max",
                                   "the comparison",
                                   "softmax",
                                   "permute",
                                   "reshape",
                                   "repeat",
                                   "where",
                                   "where",
                                   "cumulative_sum",
                                   "concat",
                                   "a part of concat",
                                   "take_rows",
                                   "the gradient of take_rows",
                                   "slice",
                                   "the gradient of slice"};
  return names[static_cast<int>(what)];
}

struct node {
  operation what = operation::input;
  function f = function::exp;  ///< the function of apply and apply_gradient
  int a = -1, b = -1;          ///< the operands: the numbers of earlier nodes
  int weight = 0;              ///< the number of the weight; for `part`: 0 first, 1 last part
  double number = 0;  ///< the number a, the first index of slice or pad, or cumulate's direction
  shape extents;
  dim_letters in_a, in_b, out;  ///< the dims of the operands and of the result
  friend constexpr bool operator==(node const&, node const&) = default;

  /// Returns whether the node reads the values of b.
  constexpr bool reads_b() const { return b >= 0 && what != operation::repeat; }
  /// Returns whether the operator is a cumulative sum, a concatenation, a slice or the rows of a
  /// table, or computes the gradient of one of these.
  constexpr bool is_selection() const { return what >= operation::cumulate; }
  /// Returns whether GPUs have a kernel for the operator.
  constexpr bool runs_on_devices() const {
    return what != operation::take_rows && what != operation::add_rows;
  }
  /// Returns whether the node is a tensor that a pass gets.
  constexpr bool is_leaf() const { return a < 0; }
  /// Returns whether each element of the result follows from one element of each operand. Such a
  /// node costs little to compute again.
  constexpr bool is_element_wise() const {
    return !is_leaf() && what != operation::contract && what != operation::sum &&
           what != operation::largest && what != operation::softmax && !is_selection();
  }
  /// Returns whether the result may overwrite an operand with as many elements. This is so if
  /// element i of the result needs only element i of this operand.
  constexpr bool may_overwrite() const {
    return is_element_wise() && what != operation::repeat && what != operation::permute;
  }
};

inline constexpr int max_nodes = 128;  ///< the most nodes of a formula with its gradient

/// The operators of a formula in an order in which they can be computed.
struct graph {
  char const* name = "formula";  ///< the name of the formula in errors
  inplace_vector<node, max_nodes> nodes;
  /// Says whether node i is a contraction whose only use is an addition, such as that of a bias.
  /// The bias is first written to all rows of the result, and then the product is added to it.
  /// adjoint.hpp finds these contractions.
  bool joins_sum[max_nodes]{};

  /// Returns the operand of node i that is a contraction with joins_sum, or -1 if there is none.
  constexpr int joined(int i) const {
    node const& n = nodes[i];
    if (n.what != operation::add) return -1;
    return joins_sum[n.a] ? n.a : joins_sum[n.b] ? n.b : -1;
  }

  constexpr int size() const { return nodes.size(); }
  constexpr node const& operator[](int i) const { return nodes[i]; }

  /// Returns the number of a node that equals `n`, and adds it first if there is none.
  constexpr int add(node const& n) {
    for (int i = 0; i < nodes.size(); ++i)
      if (nodes[i] == n) return i;
    if (nodes.size() == max_nodes)
      throw error(name, "the formula and its gradient have more than " + std::to_string(max_nodes) +
                            " operators. Divide it into several formulas in an nn::chain.");
    nodes.push_back(n);
    return nodes.size() - 1;
  }
};

/// Returns the floating-point operations of node i: two for each product of a contraction, and 0
/// for all other operators.
constexpr double flops_of(graph const& g, int i) {
  node const& n = g[i];
  if (n.what != operation::contract) return 0;
  double products = static_cast<double>(n.extents.elements());
  for (int d = 0; d < g[n.a].extents.rank(); ++d)
    if (!n.out.has(n.in_a.text[d])) products *= static_cast<double>(g[n.a].extents[d]);
  return 2 * products;
}

namespace detail {

/// Adds an operator of one operand whose result has the extents of the operand.
constexpr int add_map(graph& g, operation what, int a, double number, function f = function::exp) {
  node n;
  n.what = what;
  n.f = f;
  n.a = a;
  n.number = number;
  n.extents = g[a].extents;
  n.in_a = n.out = first_letters(n.extents.rank());
  return g.add(n);
}

/// Adds an element-wise operator of two operands. Their dims are matched from the last one on, and
/// an operand is repeated along dims that it lacks or where its extent is 1. Throws ashlar::error
/// if two extents differ and neither is 1.
constexpr int add_pair(graph& g, operation what, int a, int b, double number = 0,
                       function f = function::exp) {
  shape const x = g[a].extents, y = g[b].extents;
  auto const dims = match_dims(x, y);
  if (dims.failing_dim >= 0)
    throw error(g.name, std::string(to_string(what)) + " of " + to_string(x) + " and " +
                            to_string(y) + ": the extents of dim " +
                            std::to_string(dims.failing_dim) +
                            " differ and neither is 1. Dims are matched from the last one on.");
  node n;
  n.what = what;
  n.f = f;
  n.a = a;
  n.b = b;
  n.number = number;
  n.extents = dims.extents;
  n.in_a = dims.x;
  n.in_b = dims.y;
  n.out = first_letters(n.extents.rank());
  return g.add(n);
}

/// Adds a contraction with dims given by letters.
constexpr int add_contraction(graph& g, int a, int b, dim_letters const& in_a,
                              dim_letters const& in_b, dim_letters const& out) {
  node n;
  n.what = operation::contract;
  n.a = a;
  n.b = b;
  n.in_a = in_a;
  n.in_b = in_b;
  n.out = out;
  for (char const letter : out.view()) {
    auto const i = in_a.view().find(letter), j = in_b.view().find(letter);
    n.extents.extent.push_back(i != std::string_view::npos ? g[a].extents[static_cast<int>(i)]
                                                           : g[b].extents[static_cast<int>(j)]);
  }
  return g.add(n);
}

/// Adds the product of node a [lead.., k] and node b [k, n] or [lead.., k, n]. Throws ashlar::error
/// if the extents do not fit.
constexpr int add_product(graph& g, int a, int b) {
  shape const x = g[a].extents, y = g[b].extents;
  int const lead = x.rank() - 2, batch = y.rank() - 2;
  bool fits = lead >= 0 && batch >= 0 && (batch == 0 || batch == lead) &&
              may_be_equal(x[lead + 1], y[batch]);
  for (int d = 0; fits && d < batch; ++d) fits = may_be_equal(x[d], y[d]);
  if (!fits)
    throw error(g.name, "matmul of " + to_string(x) + " and " + to_string(y) +
                            ": the last extent of the first must be the last but one of the "
                            "second, and the dims of a batch must be equal.");
  dim_letters const k("k"), n("n"), rows = first_letters(lead + 1);
  return add_contraction(g, a, b, rows + k, first_letters(batch) + k + n, rows + n);
}

/// Adds an operator of one operand whose result has other dims: the letters `out` and the extents
/// `extents`. `number` becomes node::weight.
constexpr int add_with_dims(graph& g, operation what, int a, dim_letters const& in,
                            dim_letters const& out, shape const& extents, int number = 0) {
  node n;
  n.what = what;
  n.a = a;
  n.weight = number;
  n.extents = extents;
  n.in_a = in;
  n.out = out;
  return g.add(n);
}

/// Adds the maximum of node a over the dims in the bit mask `dims`, which stay with extent 1.
constexpr int add_largest(graph& g, int a, unsigned dims) {
  shape extents = g[a].extents;
  auto const in = first_letters(extents.rank());
  auto out = in;
  for (int d = 0; d < extents.rank(); ++d)
    if ((dims >> d & 1u) != 0) extents.extent[d] = 1, out.text[d] = '1';
  return add_with_dims(g, operation::largest, a, in, out, extents);
}

/// Adds a permutation of the dims of node a: dim i of the result is dim order[i] of a.
constexpr int add_permutation(graph& g, int a, inplace_vector<int, max_rank> const& order) {
  auto const in = first_letters(order.size());
  dim_letters out;
  shape extents;
  for (int const d : order) {
    out.push_back(in.text[d]);
    extents.extent.push_back(g[a].extents[d]);
  }
  return add_with_dims(g, operation::permute, a, in, out, extents);
}

/// Adds node a with its dims `first` to `last` replaced by dims of the extents `parts`. The letters
/// of all other dims are the same before and after.
constexpr int add_reshape(graph& g, int a, int first, int last, shape const& parts) {
  shape const x = g[a].extents;
  dim_letters in, out;
  shape extents;
  char next = 'A';
  auto const keep = [&](int d) {
    in.push_back(static_cast<char>('a' + d));
    out.push_back(static_cast<char>('a' + d));
    extents.extent.push_back(x[d]);
  };
  for (int d = 0; d < first; ++d) keep(d);
  for (int d = first; d <= last; ++d) in.push_back(next++);
  for (int d = 0; d < parts.rank(); ++d) {
    out.push_back(next++);
    extents.extent.push_back(parts[d]);
  }
  for (int d = last + 1; d < x.rank(); ++d) keep(d);
  return add_with_dims(g, operation::reshape, a, in, out, extents);
}

/// Adds the sum of node a over the dims in the bit mask `dims`, which stay with extent 1. Then
/// removes the first `removed` dims, which must be among the summed dims. Returns a if `dims` is
/// empty.
constexpr int add_sum(graph& g, int a, unsigned dims, int removed) {
  if (dims == 0) return a;
  node n;
  n.what = operation::sum;
  n.a = a;
  shape const x = g[a].extents;
  n.in_a = first_letters(x.rank());
  for (int d = removed; d < x.rank(); ++d) {
    bool const summed = (dims >> d & 1u) != 0;
    n.extents.extent.push_back(summed ? 1 : x[d]);
    n.out.push_back(summed ? '1' : n.in_a.text[d]);
  }
  return g.add(n);
}

}  // namespace detail
}  // namespace ashlar::formulas
