// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The training rows of a formula (signature/training_row.hpp). A row places the tensors of a pass
// along one mesh axis. The row is right if every operator of the formula and of its gradient is
// local, which means that the operator's signature table has a row with these placements. The
// placements of x, the weights and dy determine all others. So all placements of these few tensors
// are tried, in the order in which the operators need them. A trial ends at the first operator
// without a row.
//
//   x         S(d), B, P           weight   S(d), B, P       dy    as y if y is split, else B or P
//   dx        must be split as x if x is split, else B or P
//   gradients of weights           must be split as the weight if it is split, else B or P
//
// The two tensors that a formula joins at the end of a branch have the same placement, and so do
// their gradients.
//
// A row that reads weights as partial sums is dropped if another row reads some of these weights
// whole and places x and all other weights alike. The rows that remain add a weight to a tensor
// that is partial in any case, such as the bias of a linear layer whose input features are split.
//
// A row that splits a tensor of the layer is dropped if every rank repeats products that cost much,
// because the search prices a row as if the ranks divided all work of the layer (step/work.hpp).
//
// The gradient of a tensor with several uses is a sum, all of whose addends need the same
// placement. So some rows are missing that a layer written by hand could have, if it reduced one
// addend first.

#include <cstdint>

#include <ashlar/placement/text.hpp>
#include <ashlar/signature/along_dim.hpp>
#include <ashlar/signature/formula/adjoint.hpp>
#include <ashlar/signature/rows.hpp>
#include <ashlar/signature/training_row.hpp>

namespace ashlar::formulas {

/// Returns false for a partial maximum or minimum, which training does not use, otherwise true.
constexpr bool is_added(axis_placement const& p) {
  return !p.is_partial() || p.op == reduction::sum;
}

/// Returns the signature table of node i. The node must have operands.
constexpr signature_table table_of(graph const& g, int i) {
  node const& n = g[i];
  auto const a = n.in_a.view(), b = n.in_b.view(), out = n.out.view();
  int const rank = n.extents.rank();
  auto const only = [](signature_table const& table, auto const& holds) {
    signature_table kept;
    for (auto const& row : table)
      if (holds(row)) kept.push_back(row);
    return kept;
  };
  switch (n.what) {
    case operation::scale:
    case operation::divide_by: return linear_map_signatures(rank);
    case operation::shift:
    case operation::divide_into:
    case operation::power:
    case operation::apply: return nonlinear_map_signatures(rank);
    case operation::power_gradient:
    case operation::apply_gradient:  // linear in dz, which is the second operand
      return only(multiply_signatures(a, b, out),
                  [](signature const& row) { return !row.in[0].is_partial(); });
    case operation::add:
    case operation::subtract:
      return only(add_signatures(a, b, out),
                  [](signature const& row) { return is_added(row.out); });
    case operation::multiply: return multiply_signatures(a, b, out);
    case operation::divide: return divide_signatures(a, b, out);
    case operation::contract: return contraction_signatures(a, b, out);
    case operation::sum:
    case operation::permute: return sum_signatures(a, out);
    case operation::largest:  // without P(max), which training does not use
      return only(sum_signatures(a, out), [](signature const& row) {
        return !row.in[0].is_partial() && !row.out.is_partial();
      });
    case operation::reshape:  // only dims that do not change may be split
      return only(sum_signatures(a, out), [](signature const& row) {
        return row.in[0].is_partial() == row.out.is_partial();
      });
    case operation::equal: return alike_signatures(a, b, out);
    case operation::softmax: return softmax_signatures(rank, rank - 1);
    case operation::repeat: return repeat_signatures(a, out);
    case operation::keep:
    case operation::drop:  // linear in u for a given mask
      return only(multiply_signatures(a, b, out),
                  [](signature const& row) { return !row.in[1].is_partial(); });
    case operation::cumulate: return cumulative_sum_signatures(rank, rank - 1);
    case operation::join:
      return only(add_signatures(a, b, out), [](signature const& row) {
        return row.in[0] == row.out && row.in[1] == row.out && is_added(row.out);
      });
    case operation::part:
    case operation::slice:
    case operation::pad:
      return only(sum_signatures(a, out),
                  [](signature const& row) { return row.in[0] == row.out; });
    case operation::take_rows:  // no split of the rows: a shard does not say which rows it has
      return only(take_rows_signatures(n.in_a.length, n.in_b.length), [](signature const& row) {
        return !row.in[0].is_split_of(0) && is_added(row.out);
      });
    case operation::add_rows: {
      signature_table table;
      for (auto const& row : add_rows_signatures(n.out.length, n.in_b.length))
        if (!row.out.is_split_of(0)) table.push_back({{row.in[2], row.in[1]}, row.out});
      return table;
    }
    default: throw error(g.name, "a tensor of a pass has no signature table.");
  }
}

/// Returns whether a gradient may have placement `gradient` if its tensor has placement `tensor`.
constexpr bool is_gradient_of(axis_placement const& gradient, axis_placement const& tensor) {
  return tensor.is_split() ? same_role(gradient, tensor) : !gradient.is_split();
}

/// A set of nodes of one graph.
struct node_set {
  std::uint64_t words[(max_nodes + 63) / 64]{};
  constexpr bool has(int i) const { return (words[i / 64] >> (i % 64) & 1u) != 0; }
  constexpr void add(int i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
};

namespace detail {

/// A training row with which all operators of a formula and of its gradient are local.
struct local_row {
  training_row row;
  node_set split;  ///< the nodes whose results are split
  /// If every rank repeats too many flops: the repeated product that costs most. Otherwise -1.
  int repeated_node = -1;
};

/// The reasons for which no training row is local:
///
///   no_row     an operator has no row in its table
///   gradient   the gradient of x or of a weight would not fit its tensor (is_gradient_of)
enum class obstacle_kind : signed char { none, no_row, gradient };

struct obstacle {
  obstacle_kind kind = obstacle_kind::none;
  int node = -1;        ///< the operator, or x or the weight
  axis_placement a, b;  ///< placements of the operands, or of the gradient and its tensor
};

/// Tries all placements on one axis.
class row_search {
 public:
  static constexpr int capacity = 96;
  using row_list = inplace_vector<local_row, capacity>;

  constexpr explicit row_search(differentiated_formula const& f) : f_(f), g_(f.g) {
    needed_nodes const needed(f);
    if (f.target >= 0 || f.first >= 0) visit(f.x);  // the targets are placed like x
    for (int i = 0; i < f.forward; ++i)
      if (needed.has[i] && !g_[i].is_leaf()) visit(i);
    visit(f.y);  // y may be x itself
    visit(f.dy);
    for (int i = f.forward; i < g_.size(); ++i)
      if (needed.has[i]) visit(i);
    for (int const leaf : f.weights) visit(leaf);
    visit(f.x);
    for (int const i : order_)
      if (!g_[i].is_leaf()) {
        tables_[i] = table_of(g_, i);
        flops_ += flops_of(g_, i);
      }
  }

  /// Returns all local rows, or only those with x at *only_x if `only_x` is not null.
  constexpr row_list const& run(axis_placement const* only_x = nullptr) {
    only_x_ = only_x;
    try_from(0);
    return rows_;
  }

  /// Returns the obstacle at which the trial that got furthest ended. Call it after a run that
  /// found no row.
  constexpr obstacle const& furthest() const { return obstacle_; }

 private:
  /// Appends node i to the order of the trials, after its operands.
  constexpr void visit(int i) {
    if (i < 0 || ordered_[i]) return;
    ordered_[i] = true;
    visit(g_[i].a);
    visit(g_[i].b);
    order_.push_back(i);
  }

  /// Finds the placement of the result of node i. Returns whether there is one.
  constexpr bool place(int i) {
    node const& n = g_[i];
    axis_placement const a = role_[n.a];
    for (auto const& row : tables_[i]) {
      if (!same_role(row.in[0], a)) continue;
      if (n.what == operation::repeat) {  // the adjoint of a split node must be split like it
        if (!is_gradient_of(row.out, role_[n.b])) continue;
      } else if (n.b >= 0 && !same_role(row.in[1], role_[n.b])) {
        continue;
      }
      role_[i] = row.out;
      return true;
    }
    return false;
  }

  constexpr void try_from(int position) {
    if (position == order_.size()) return add_row();
    int const i = order_[position];
    node const& n = g_[i];
    if (!n.is_leaf()) {
      if (place(i)) return try_from(position + 1);
      return end_at(position, {obstacle_kind::no_row, i, role_[n.a],
                               n.b < 0 ? axis_placement{} : role_[n.b]});
    }
    if (n.what == operation::input && only_x_ != nullptr) {
      role_[i] = *only_x_;
      return try_from(position + 1);
    }
    auto const with = [&](axis_placement const& role) {
      role_[i] = role;
      try_from(position + 1);
    };
    if (i == f_.first) return with(role_[f_.x]);
    if (n.what == operation::target)
      return with(role_[f_.x].is_split() ? role_[f_.x] : broadcast());
    if (n.what == operation::output_gradient && role_[f_.y].is_split()) return with(role_[f_.y]);
    with(broadcast());
    if (n.what != operation::output_gradient)
      for (int d = 0; d < n.extents.rank(); ++d) with(split(d, 0));
    with(partial());
  }

  /// Stores the obstacle at which a trial ended, unless an earlier trial got further.
  constexpr void end_at(int position, obstacle const& at) {
    if (position < furthest_) return;
    furthest_ = position;
    obstacle_ = at;
  }

  constexpr void add_row() {
    local_row found;
    training_row& row = found.row;
    row = {role_[f_.x], role_[f_.y], role_[f_.dy], role_[f_.dx]};
    bool splits = row.x.is_split() || row.y.is_split();
    auto const end_at_gradient_of = [&](int leaf, axis_placement const& gradient) {
      end_at(order_.size(), {obstacle_kind::gradient, leaf, gradient, role_[leaf]});
    };
    if (!is_gradient_of(row.dx, row.x)) return end_at_gradient_of(f_.x, row.dx);
    for (int k = 0; k < f_.weights.size(); ++k) {
      row.use.push_back(role_[f_.weights[k]]);
      row.grad.push_back(role_[f_.gradients[k]]);
      splits = splits || row.use[k].is_split();
      if (!is_gradient_of(row.grad[k], row.use[k]))
        return end_at_gradient_of(f_.weights[k], row.grad[k]);
      if (f_.first >= 0 && !same_role(row.grad[k], row.dx))
        return end_at_gradient_of(f_.weights[k], row.grad[k]);
    }
    if (rows_.size() == capacity)
      throw error(g_.name, "the formula is local in too many ways to list them.");
    for (int const i : order_)
      if (role_[i].is_split()) found.split.add(i);
    if (splits) found.repeated_node = repeated_node(found.split);
    rows_.push_back(found);
  }

  /// If the nodes of `split` are split, every rank repeats those products that have none of these
  /// nodes as an operand or as the result. Returns the most expensive of the repeated products, or
  /// -1 if their share of all flops is at most most_repeated_flops.
  constexpr int repeated_node(node_set const& split) const {
    double repeated = 0, most = 0;
    int node = -1;
    for (int const i : order_) {
      if (g_[i].what != operation::contract) continue;
      if (split.has(i) || split.has(g_[i].a) || split.has(g_[i].b)) continue;
      double const flops = flops_of(g_, i);
      repeated += flops;
      if (flops <= most) continue;
      most = flops;
      node = i;
    }
    return repeated > most_repeated_flops * flops_ ? node : -1;
  }

  differentiated_formula const& f_;
  graph const& g_;
  inplace_vector<int, max_nodes> order_;
  bool ordered_[max_nodes]{};
  signature_table tables_[max_nodes]{};
  axis_placement role_[max_nodes]{};
  row_list rows_;
  axis_placement const* only_x_ = nullptr;  ///< if not null, the only placement of x to try
  int furthest_ = 0;                        ///< the last position at which a trial ended
  obstacle obstacle_;                       ///< why it ended there
  double flops_ = 0;                        ///< the flops of all products
};

/// Returns whether two rows have the same x and weights, apart from at least one weight that `row`
/// reads partial and `whole` reads whole.
constexpr bool reads_whole_instead(training_row const& whole, training_row const& row) {
  bool differs = false;
  for (int k = 0; k < row.use.size(); ++k) {
    bool const instead = row.use[k].is_partial() && whole.use[k].is_broadcast();
    if (!instead && !same_role(row.use[k], whole.use[k])) return false;
    differs = differs || instead;
  }
  return differs && same_role(row.x, whole.x);
}

}  // namespace detail

/// The training rows of a formula, and what they split.
struct formula_rows {
  training_table table;
  inplace_vector<node_set, training_table::capacity()> split;  ///< the split nodes of each row
  /// False if each index of dim 0 of y depends only on the same index of dim 0 of x. This is so if
  /// a row in which every operator is local splits dim 0 of both, even if that row is dropped.
  bool couples_rows = true;

  /// Returns whether the result of node i is split in all rows for which holds(row) is true.
  template <class Holds>
  constexpr bool splits(int i, Holds const& holds) const {
    for (int r = 0; r < table.size(); ++r)
      if (holds(table[r]) && !split[r].has(i)) return false;
    return true;
  }
  /// Returns whether nodes i and j are split in exactly the same training rows.
  constexpr bool splits_alike(int i, int j) const {
    for (auto const& in_row : split)
      if (in_row.has(i) != in_row.has(j)) return false;
    return true;
  }
};

/// Returns the training rows of a formula. Throws ashlar::error if there are more than a
/// training_table has room for.
constexpr formula_rows training_rows(differentiated_formula const& f) {
  detail::row_search search(f);
  auto const& all = search.run();
  formula_rows rows;
  for (auto const& it : all) {
    if (it.row.x.is_split_of(0) && it.row.y.is_split_of(0)) rows.couples_rows = false;
    bool dropped = it.repeated_node >= 0;
    for (auto const& other : all)
      dropped = dropped ||
                (other.repeated_node < 0 && detail::reads_whole_instead(other.row, it.row));
    if (dropped) continue;
    if (rows.table.size() == training_table::capacity())
      throw error(f.g.name, "the formula is local in more than " +
                                std::to_string(training_table::capacity()) +
                                " ways. Divide it into several formulas in an nn::chain.");
    rows.table.push_back(it.row);
    rows.split.push_back(it.split);
  }
  return rows;
}

/// Returns a sentence that says why no signature row has the placement `x` for the layer's input,
/// whatever the placements of the weights. Returns an empty text if there is such a row.
inline std::string refusal(differentiated_formula const& f, axis_placement const& x) {
  axis_placement role = x;
  role.depth = 0;
  detail::row_search search(f);
  auto const& found = search.run(&role);
  for (auto const& it : found)
    if (it.repeated_node < 0) return "";
  std::string const begin = std::string(f.g.name) + " with x " + to_string(role) + ": ";
  auto const operation_of = [&](int i) {
    node const& n = f.g[i];
    return (i < f.forward ? std::string() : "in the backward pass, ") +
           (n.what == operation::apply ? to_string(n.f) : to_string(n.what)) + " of ";
  };
  if (!found.empty()) {
    int const i = found[0].repeated_node;
    return begin + operation_of(i) + to_string(f.g[f.g[i].a].extents) + " and " +
           to_string(f.g[f.g[i].b].extents) +
           " would be repeated on every rank, which takes too long.";
  }
  auto const& at = search.furthest();
  if (at.kind == detail::obstacle_kind::gradient)
    return begin + "the gradient of " + f.name_of(at.node) + " would be " + to_string(at.a) +
           " and not " + to_string(at.b) + ", which needs communication.";
  node const& n = f.g[at.node];
  auto const operand = [&](int u, axis_placement const& where) {
    return to_string(f.g[u].extents) + " " + to_string(where);
  };
  return begin + operation_of(at.node) + operand(n.a, at.a) +
         (n.b < 0 ? "" : " and " + operand(n.b, at.b)) + " needs communication.";
}

}  // namespace ashlar::formulas
