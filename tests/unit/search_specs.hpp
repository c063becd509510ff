// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Descriptions of layers for tests of the search, built from the signature tables without the
// layers of nn. The flops are only approximate, because the tests compare algorithms and need no
// realistic costs.

#include <ashlar/step/problem.hpp>

namespace ashlar_test {

namespace search = ashlar::search;
using ashlar::shape;

constexpr double count(shape const& s) { return static_cast<double>(s.elements()); }

/// Returns a linear layer with bias on the last dimension of x, which has two or three dimensions.
constexpr search::layer_spec linear_spec(shape const& x, std::int64_t out) {
  search::layer_spec s;
  int const last = x.rank() - 1;
  s.name = "linear";
  s.x = s.y = x;
  s.y[last] = out;
  s.parameters.push_back({"weight", {x[last], out}, true});
  s.parameters.push_back({"bias", {out}, false});
  s.rows = x.rank() == 2 ? ashlar::linear_training_rows("md", "df", "mf", "f")
                         : ashlar::linear_training_rows("bsd", "df", "bsf", "f");
  s.forward_flops = 2.0 * count(x) * static_cast<double>(out);
  s.backward_flops = 2.0 * s.forward_flops;
  s.saved_values = count(x);
  return s;
}

/// Returns a layer whose output has the shape of its input. `saved` is the number of saved values
/// per element of x.
constexpr search::layer_spec map_spec(search::label name, shape const& x,
                                      ashlar::training_table const& rows, double saved) {
  search::layer_spec s;
  s.name = name;
  s.x = s.y = x;
  s.rows = rows;
  s.forward_values = 2.0 * count(x);
  s.backward_values = 3.0 * count(x);
  s.saved_values = saved * count(x);
  return s;
}

constexpr search::layer_spec gelu_spec(shape const& x) {
  return map_spec("gelu", x, ashlar::nonlinear_training_rows(x.rank() == 2 ? "md" : "bsd"), 1);
}

constexpr search::layer_spec dropout_spec(shape const& x) {
  return map_spec("dropout", x, ashlar::independent_training_rows(x.rank()), 0);
}

constexpr search::layer_spec layer_norm_spec(shape const& x) {
  auto s = map_spec("layer_norm", x, ashlar::layer_norm_training_rows(x.rank()), 1);
  s.parameters.push_back({"gain", {x[x.rank() - 1]}, true});
  s.parameters.push_back({"bias", {x[x.rank() - 1]}, false});
  return s;
}

/// Returns an attention layer. x has the shape [batch, seq, 3 heads head_dim] and is viewed as
/// [batch, seq, heads, 3 head_dim].
constexpr search::layer_spec attention_spec(shape const& x, std::int64_t heads) {
  search::layer_spec s;
  s.name = "attention";
  s.x = {x[0], x[1], heads, x[2] / heads};
  s.y = {x[0], x[1], heads, x[2] / heads / 3};
  s.rows = ashlar::attention_training_rows();
  s.forward_flops = 4.0 * count(s.y) * static_cast<double>(x[1]);
  s.backward_flops = 2.0 * s.forward_flops;
  s.saved_values = 4.0 * count(s.y);
  return s;
}

constexpr search::layer_spec embedding_spec(shape const& ids, std::int64_t words, std::int64_t d) {
  search::layer_spec s;
  s.name = "embedding";
  s.x = ids;
  s.y = {ids[0], ids[1], d};
  s.parameters.push_back({"table", {words, d}, false});
  s.parameters.push_back({"positions", {ids[1], d}, false});
  s.rows = ashlar::embedding_training_rows(true);
  s.forward_values = s.backward_values = 2.0 * count(s.y);
  return s;
}

constexpr search::layer_spec cross_entropy_spec(shape const& x) {
  search::layer_spec s;
  s.name = "cross_entropy";
  s.x = x;
  shape rows;
  for (int d = 0; d + 1 < x.rank(); ++d) rows.extent.push_back(x[d]);
  s.statistics.push_back(rows);
  s.statistics.push_back(rows);
  s.rows = ashlar::cross_entropy_training_rows(x.rank());
  s.forward_values = 2.0 * count(x);
  s.backward_values = count(x);
  return s;
}

/// Adds a residual around the elements that `inside(net)` adds.
template <class Problem, class Inside>
constexpr void add_residual(Problem& net, shape const& x, Inside inside) {
  int const begin = net.size();
  auto sum = map_spec("residual", x, ashlar::independent_training_rows(x.rank()), 0);
  sum.forward_values = 0, sum.backward_values = 3.0 * count(x);  // the begin adds gradients
  net.add(sum, search::element_kind::residual_begin);
  inside(net);
  net[begin].partner = net.size();
  sum.forward_values = 3.0 * count(x), sum.backward_values = 0;
  net.add(sum, search::element_kind::residual_end, begin);
}

/// Adds a skip, which concatenates along the last dim, around the elements that `inside(net)` adds.
/// `inside` returns the extents of its output. Returns the extents of the skip's output.
template <class Problem, class Inside>
constexpr shape add_skip(Problem& net, shape const& x, Inside inside) {
  int const begin = net.size(), last = x.rank() - 1;
  auto ends = map_spec("skip", x, {}, 0);
  for (auto const& row : ashlar::independent_training_rows(x.rank()))
    if (!row.x.is_split() || row.x.dim != last) ends.rows.push_back(row);
  ends.forward_values = 0;  // in the forward pass, the begin only passes x on
  net.add(ends, search::element_kind::residual_begin);
  ends.x = inside(net);
  ends.y = x;
  ends.forward_values = ends.backward_values;
  ends.y[last] += ends.x[last];
  net[begin].partner = net.size();
  net.add(ends, search::element_kind::residual_end, begin);
  return ends.y;
}

/// The ways to join the outputs of the two nets of a branch. `formula` makes a result whose last
/// dim is longer by one; ranks do not split this dim.
enum class joined_by { sum, product, concatenation, formula };

/// Adds a branch. first(net) and second(net) each add the elements of one of its two nets, and
/// return the extents of this net's output. `concatenation` is along the last dim. Returns the
/// extents of the branch's output.
template <class Problem, class First, class Second>
constexpr shape add_branch(Problem& net, shape const& x, joined_by join, First first,
                           Second second) {
  int const begin = net.size();
  auto ends = map_spec("branch", x, ashlar::independent_training_rows(x.rank()), 0);
  ends.forward_values = 0;  // in the forward pass, the begin only passes x on
  net.add(ends, search::element_kind::branch_begin);
  search::layer_spec turn;
  turn.name = "branch";
  turn.x = first(net);
  turn.y = x;
  turn.rows = ashlar::independent_training_rows(2);
  net[begin].partner = net.size();
  net.add(turn, search::element_kind::branch_turn);
  int const at = net.size() - 1;
  ends.x = ends.y = second(net);
  int const last = ends.y.rank() - 1;
  ends.rows = ashlar::independent_training_rows(ends.x.rank());
  if (join == joined_by::product) {
    ends.rows = ashlar::nonlinear_training_rows(ends.x.rank() == 2 ? "md" : "bsd");
    ends.saved_values = 2.0 * count(ends.x);
  } else if (join != joined_by::sum) {
    ends.y[last] += join == joined_by::formula ? 1 : turn.x[last];
    ends.saved_values = join == joined_by::formula ? count(ends.y) : 0;
    ends.rows = {};
    for (auto const& row : ashlar::independent_training_rows(ends.x.rank()))
      if (!row.x.is_split() || row.x.dim != last) ends.rows.push_back(row);
  }
  ends.forward_values = 3.0 * count(ends.y);
  ends.backward_values = join == joined_by::sum ? 0 : 3.0 * count(ends.y);
  net[at].partner = net.size();
  net.add(ends,
          join == joined_by::sum       ? search::element_kind::branch_sum
          : join == joined_by::formula ? search::element_kind::branch_formula
                                       : search::element_kind::branch_join,
          begin);
  return ends.y;
}

/// Returns alternating linear layers and gelus with widths d, 4 d, 4 d, d, ...
template <int N = search::dynamic_size>
constexpr search::basic_problem<N> mlp(int layers, std::int64_t batch, std::int64_t d) {
  search::basic_problem<N> net;
  for (int i = 0; i < layers; ++i) {
    bool const wide = (i + 1) / 2 % 2 == 1;
    shape const x{batch, wide ? 4 * d : d};
    if (i % 2 == 0) net.add(linear_spec(x, wide ? d : 4 * d));
    else net.add(gelu_spec(x));
  }
  return net;
}

}  // namespace ashlar_test
