// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Forms groups of nodes that a pass computes together, a few rows at a time. A result that only
// nodes of its group need is never stored as a whole: its rows stay in a buffer of a few rows. A
// row has the elements along the last dim, and there is one row for each index of the dims before
// it. The tensors of a group have the same rows. A group may contain these nodes:
//
//   element-wise    Each operand has the rows of the group and may be repeated along the last dim,
//                   or is one row, such as a bias, that is repeated for all rows.
//   along a row     sum and max over the last dim, softmax
//   sum of rows     The sum over all dims before the last one, complete after the last row.
//
// In the order of the pass, a group is at the position of its last node. A node that needs a sum of
// rows of the group comes after the group. Each element is computed by the same operations in the
// same order as without groups, so results are the same bit by bit.

#include <ashlar/signature/formula/graph.hpp>

namespace ashlar::formulas {

/// Returns whether an operand has the rows of a result: the same dims before the last one.
constexpr bool has_rows_of(dim_letters const& operand, dim_letters const& out) {
  if (operand.length != out.length || out.length < 2) return false;
  for (int d = 0; d + 1 < out.length; ++d)
    if (operand.text[d] != out.text[d]) return false;
  return true;
}
/// Returns whether an operand is one row that is repeated for every row of the result.
constexpr bool is_one_row(dim_letters const& operand) {
  for (int d = 0; d + 1 < operand.length; ++d)
    if (operand.text[d] != '1') return false;
  return true;
}
/// Returns whether node i is the sum over all dims before the last one, and over no other.
constexpr bool sums_rows(graph const& g, int i) {
  node const& n = g[i];
  if (n.what != operation::sum || n.in_a.length < 2 || n.out.length == 0) return false;
  shape const& x = g[n.a].extents;
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < x.rank(); ++d) rows *= x[d];
  return rows != 1 && x[x.rank() - 1] != 1 && is_one_row(n.out) &&
         n.out.text[n.out.length - 1] == n.in_a.text[n.in_a.length - 1];
}
/// Returns whether node i can be computed row by row and is not a sum of rows.
constexpr bool is_of_rows(graph const& g, int i) {
  node const& n = g[i];
  if (n.is_leaf() || n.extents.rank() < 2 || g.joined(i) >= 0) return false;
  switch (n.what) {
    case operation::contract:
    case operation::permute:
    case operation::reshape:
    case operation::cumulate:
    case operation::join:
    case operation::part:
    case operation::slice:
    case operation::pad:
    case operation::take_rows:
    case operation::add_rows: return false;
    case operation::softmax: return true;
    case operation::sum:
    case operation::largest: return has_rows_of(n.in_a, n.out);
    default: break;
  }
  auto const fits = [&](dim_letters const& in) { return has_rows_of(in, n.out) || is_one_row(in); };
  return fits(n.in_a) && (!n.reads_b() || fits(n.in_b));
}

/// The nodes of a pass in the order in which they are computed. Consecutive nodes of one group are
/// computed together.
struct pass_order {
  inplace_vector<int, max_nodes> nodes;  ///< without contractions with graph::joins_sum
  /// The group of each node, or -1 for a node that is computed alone.
  inplace_vector<int, max_nodes> group;

  /// Returns the position after the group of the node at position `first`.
  constexpr int end_of_group(int first) const {
    int end = first + 1;
    while (group[first] >= 0 && end < nodes.size() && group[end] == group[first]) ++end;
    return end;
  }
};

namespace detail {

class row_grouping {
 public:
  constexpr row_grouping(graph const& g, bool const* computes) : g_(g) {
    for (int i = 0; i < g.size(); ++i) like_[i] = i;
    // Joins each computed node with those of its operands that have the same rows: the rows of both
    // are divided over the ranks in the same way. A node that is not computed does not show how the
    // rows of its operands are divided.
    for (int i = 0; i < g.size(); ++i) {
      if (!computes[i] || !is_of_rows(g, i)) continue;
      node const& n = g[i];
      if (has_rows_of(n.in_a, n.out)) join(i, n.a);
      if (n.b >= 0 && has_rows_of(n.in_b, n.out)) join(i, n.b);
    }
    for (int i = 0; i < g.size(); ++i)
      if (computes[i] && !g.joins_sum[i]) add(i);
    close();
  }

  constexpr pass_order const& order() const { return order_; }

 private:
  // Returns the representative of the nodes whose rows are divided over the ranks like those of
  // node i.
  constexpr int first_like(int i) const {
    while (like_[i] != i) i = like_[i];
    return i;
  }
  constexpr void join(int i, int j) { like_[first_like(i)] = first_like(j); }

  constexpr void add(int i) {
    node const& n = g_[i];
    bool const sums = sums_rows(g_, i);
    bool needs = false, needs_sum = false;
    auto const reads = [&](int u) {
      if (u < 0 || !open_.contains(u)) return;
      needs = true;
      needs_sum = needs_sum || sums_rows(g_, u);
    };
    reads(n.a);
    if (n.reads_b()) reads(n.b);
    if (int const product = g_.joined(i); product >= 0) {
      reads(g_[product].a);
      reads(g_[product].b);
    }
    // A node that cannot be in a group is computed before the open group, or after it if it needs a
    // result of the group.
    if (!sums && !is_of_rows(g_, i)) {
      if (needs) close();
      order_.nodes.push_back(i);
      order_.group.push_back(-1);
      return;
    }
    int const rows = first_like(sums ? n.a : i);
    if (needs_sum || rows != rows_) close();
    rows_ = rows;
    open_.push_back(i);
  }
  constexpr void close() {
    int const group = open_.size() > 1 ? groups_++ : -1;
    for (int const i : open_) {
      order_.nodes.push_back(i);
      order_.group.push_back(group);
    }
    open_.clear();
  }

  graph const& g_;
  int like_[max_nodes]{};
  inplace_vector<int, max_nodes> open_;  ///< the group that is being formed
  int rows_ = -1;                        ///< first_like of the nodes in open_
  int groups_ = 0;
  pass_order order_;
};

}  // namespace detail

/// Returns the order in which a pass computes the nodes with computes[i].
constexpr pass_order order_of(graph const& g, bool const* computes) {
  return detail::row_grouping(g, computes).order();
}

}  // namespace ashlar::formulas
