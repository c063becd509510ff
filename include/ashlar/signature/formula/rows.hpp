// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The training rows of a formula (signature/training_row.hpp). A row places the tensors of a pass
// along one mesh axis, and it is right if every operator of the formula and of its gradient is local:
// if each has a row in its signature table. Given x, the weights and dy, the tables say where every
// other tensor lies. So all placements of these few tensors are tried, in the order in which the
// operators need them. A trial ends at the first operator without a row.
//
//   x         S(d), B, P           weight   S(d), B, P       dy    as y if y is split, else B or P
//   dx        must be the split of x if x is split, else B or P; likewise the gradients of weights
//
// Of the rows that read weights as partial sums only those are kept in which these weights cannot be
// read whole instead. They are the rows in which a weight is added to a tensor that is partial in any
// case, such as the bias of a linear layer whose features are split.
//
// A sum of several uses of a tensor needs all addends in one placement. That excludes rows that a
// layer written by hand could have by completing one addend first.

#include <ashlar/placement/text.hpp>
#include <ashlar/signature/formula/adjoint.hpp>

namespace ashlar::formulas {

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
      return only(add_signatures(a, b, out), [](signature const& row) {
        return !row.out.is_partial() || row.out.op == reduction::sum;
      });
    case operation::multiply: return multiply_signatures(a, b, out);
    case operation::divide: return divide_signatures(a, b, out);
    case operation::contract: return contraction_signatures(a, b, out);
    case operation::sum: return sum_signatures(a, out);
    case operation::repeat: return repeat_signatures(a, out);
    default: throw error(g.name, "a tensor of a pass has no signature table.");
  }
}

/// Returns whether a gradient may lie at `gradient` if its tensor lies at `tensor`.
constexpr bool is_gradient_of(axis_placement const& gradient, axis_placement const& tensor) {
  return tensor.is_split() ? same_role(gradient, tensor) : !gradient.is_split();
}

namespace detail {

/// Tries all placements on one axis.
class row_search {
 public:
  static constexpr int capacity = 96;
  using row_list = inplace_vector<training_row, capacity>;

  constexpr explicit row_search(differentiated_formula const& f) : f_(f), g_(f.g) {
    needed_nodes const needed(f);
    for (int i = 0; i < f.forward; ++i)
      if (needed.has[i] && !g_[i].is_leaf()) visit(i);
    visit(f.y);  // which may be x itself
    visit(f.dy);
    for (int i = f.forward; i < g_.size(); ++i)
      if (needed.has[i]) visit(i);
    for (int const leaf : f.weights) visit(leaf);
    visit(f.x);
    for (int const i : order_)
      if (!g_[i].is_leaf()) tables_[i] = table_of(g_, i);
  }

  constexpr row_list run() {
    try_from(0);
    return rows_;
  }

  /// Returns the operator at which the trial with this placement of x ends that gets furthest, and
  /// writes its operands' placements to `a` and `b`. Returns -1 if a trial gets to the end.
  constexpr int refusing_node(axis_placement const& x, axis_placement& a, axis_placement& b) {
    only_x_ = &x;
    try_from(0);
    only_x_ = nullptr;
    if (!rows_.empty()) return -1;
    a = furthest_a_;
    b = furthest_b_;
    return order_[furthest_];
  }

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
      if (position < furthest_) return;
      furthest_ = position;
      furthest_a_ = role_[n.a];
      if (n.b >= 0) furthest_b_ = role_[n.b];
      return;
    }
    if (n.what == operation::input && only_x_ != nullptr) {
      role_[i] = *only_x_;
      return try_from(position + 1);
    }
    auto const with = [&](axis_placement const& role) {
      role_[i] = role;
      try_from(position + 1);
    };
    if (n.what == operation::output_gradient && role_[f_.y].is_split()) return with(role_[f_.y]);
    with(broadcast());
    if (n.what != operation::output_gradient)
      for (int d = 0; d < n.extents.rank(); ++d) with(split(d, 0));
    with(partial());
  }

  constexpr void add_row() {
    training_row row{role_[f_.x], role_[f_.y], role_[f_.dy], role_[f_.dx]};
    if (!is_gradient_of(row.dx, row.x)) return;
    for (int k = 0; k < f_.weights.size(); ++k) {
      row.use.push_back(role_[f_.weights[k]]);
      row.grad.push_back(role_[f_.gradients[k]]);
      if (!is_gradient_of(row.grad[k], row.use[k])) return;
    }
    if (rows_.size() == capacity)
      throw error(g_.name, "the formula is local in too many ways to list them.");
    rows_.push_back(row);
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
  axis_placement furthest_a_, furthest_b_;  ///< the placements of its operands
};

/// Returns whether `whole` reads weights whole that `row` reads partial, and all else as `row` does.
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

/// Returns the training rows of a formula. Throws ashlar::error if there are more than a
/// training_table has room for.
constexpr training_table training_rows(differentiated_formula const& f) {
  auto const all = detail::row_search(f).run();
  training_table table;
  for (auto const& row : all) {
    bool dominated = false;
    for (auto const& other : all) dominated = dominated || detail::reads_whole_instead(other, row);
    if (dominated) continue;
    if (table.size() == training_table::capacity())
      throw error(f.g.name, "the formula is local in more than " +
                                std::to_string(training_table::capacity()) +
                                " ways. Divide it into several formulas in an nn::chain.");
    table.push_back(row);
  }
  return table;
}

/// Returns a sentence that says which operator of a formula needs communication if x lies at `x`
/// along a mesh axis, wherever the weights lie. Returns an empty text if all operators are local.
inline std::string refusal(differentiated_formula const& f, axis_placement const& x) {
  axis_placement role = x, a, b;
  role.depth = 0;
  int const i = detail::row_search(f).refusing_node(role, a, b);
  if (i < 0) return "";
  node const& n = f.g[i];
  auto const operand = [&](int u, axis_placement const& at) {
    return to_string(f.g[u].extents) + " " + to_string(at);
  };
  return std::string(f.g.name) + " with x " + to_string(role) + ": " +
         (i < f.forward ? "" : "in the backward pass, ") +
         (n.what == operation::apply ? to_string(n.f) : to_string(n.what)) + " of " +
         operand(n.a, a) + (n.b < 0 ? "" : " and " + operand(n.b, b)) + " needs communication.";
}

}  // namespace ashlar::formulas
