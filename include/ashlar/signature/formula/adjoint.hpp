// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The gradient of a formula, in reverse mode. The adjoint of a node is the gradient of the loss
// with respect to its result. The nodes are visited from the last to the first. Each adds the
// adjoints of its operands to the graph, as operators of the same kinds. So the backward pass is a
// graph, too, and its placements follow from the same signature tables. dz is the adjoint of the
// node z:
//
//   z = a u            du = a dz               z = u + v   du = dz              dv = dz
//   z = u / a          du = dz / a             z = u - v   du = dz              dv = -dz
//   z = u + a          du = dz                 z = u * v   du = dz * v          dv = dz * u
//   z = a / u          du = -(dz * z / u)      z = u / v   du = dz / v          dv = -(du * z)
//   z = f(u)           du = dz f'(u)           z = u^a     du = dz a u^(a - 1)
//   z = contract u v   du = contract dz v      dv = contract u dz
//   z = sum u          du = dz, repeated
//   z = max u          du = dz / n * m. Here m is 1 where u = z and 0 elsewhere; n = sum of m
//   z = softmax u      du = z * (dz - sum(dz * z))
//   z = permute u      du = dz in the order of u
//   z = reshape u      du = dz with the extents of u
//   z = keep u v       du = keep dz v
//   z = drop u v       du = drop dz v
//   z = cumulate u     du = cumulate dz in the other direction
//   z = join u v       du = the first part of dz      dv = the last part of dz
//   z = slice u        du = pad dz
//   z = take_rows u v  du = add_rows dz v
//
// A mask v of keep or drop and the row numbers v of take_rows have the gradient 0.
//
// If an operand was repeated along dims, its adjoint is summed over these dims. If a node has
// several uses, its adjoint is the sum over the uses.
//
// The adjoint of a sum's operand has the same value along the summed dims, so it keeps extent 1 in
// these dims: element-wise operators repeat such a tensor by themselves. A repeat node is added
// only where an operator needs all extents.

#include <ashlar/signature/einsum.hpp>
#include <ashlar/signature/formula/selection.hpp>

namespace ashlar::formulas {

/// A formula with its gradient.
struct differentiated_formula {
  graph g;
  int x = 0, y = 0, dy = 0, dx = 0;  ///< nodes of the input, the output and their gradients
  /// The node of the targets, if the formula is a loss.
  int target = -1;
  /// The node of the first net's output, if the formula joins the outputs of the two nets of a
  /// branch, else -1. In a join, this node is also weights[0], and x is the second net's output.
  int first = -1;
  inplace_vector<int, max_parameters> weights, gradients;  ///< nodes of weights and their gradients
  char const* noun = "weight";  ///< the word before a weight's name in error messages
  inplace_vector<char const*, max_parameters> weight_names;
  int forward = 0;  ///< nodes before this number are those of the formula itself

  /// Returns the text by which error messages name a leaf: the noun and the name of a weight, such
  /// as "weight gain". For x, returns "x" or, if the formula joins two nets, "the output of the
  /// second net".
  std::string name_of(int leaf) const {
    for (int k = 0; k < weights.size(); ++k)
      if (weights[k] == leaf) return std::string(noun) + " " + weight_names[k];
    return first < 0 ? "x" : "the output of the second net";
  }
};

namespace detail {

class differentiation {
 public:
  constexpr explicit differentiation(differentiated_formula& f) : f_(f), g_(f.g) {
    for (int& a : adjoint_) a = -1;
  }

  constexpr void run() {
    adjoint_[f_.y] = f_.dy;
    for (int z = f_.y; z >= 0; --z)
      if (adjoint_[z] >= 0 && !g_[z].is_leaf()) add_adjoints(z, adjoint_[z]);
    f_.dx = finished(f_.x);
    for (int const w : f_.weights) f_.gradients.push_back(finished(w));
  }

 private:
  constexpr int scaled(double a, int u) { return add_map(g_, operation::scale, u, a); }
  constexpr int product(int u, int v) { return add_pair(g_, operation::multiply, u, v); }
  constexpr int quotient(int u, int v) { return add_pair(g_, operation::divide, u, v); }

  /// Adds to the adjoints of the operands of node z what they get from `dz`, the adjoint of z. `dz`
  /// may have extent 1 in dims along which its values are equal.
  constexpr void add_adjoints(int z, int dz) {
    node const n = g_[z];
    switch (n.what) {
      case operation::scale: return give(n.a, scaled(n.number, dz));
      case operation::divide_by: return give(n.a, add_map(g_, operation::divide_by, dz, n.number));
      case operation::shift: return give(n.a, dz);
      case operation::divide_into: return give(n.a, scaled(-1, quotient(product(dz, z), n.a)));
      case operation::power:
        return give(n.a, add_pair(g_, operation::power_gradient, n.a, dz, n.number));
      case operation::apply:
        return give(n.a, add_pair(g_, operation::apply_gradient, n.a, dz, 0, n.f));
      case operation::add: give_repeated(z, n.a, dz); return give_repeated(z, n.b, dz);
      case operation::subtract:
        give_repeated(z, n.a, dz);
        return give_repeated(z, n.b, scaled(-1, dz));
      case operation::multiply: give(n.a, product(dz, n.b)); return give(n.b, product(dz, n.a));
      case operation::divide: {
        int const du = quotient(dz, n.b);
        give(n.a, du);
        return give(n.b, scaled(-1, product(du, z)));
      }
      case operation::contract: {
        int const whole = repeated(dz, z);
        give(n.a, add_contraction(g_, whole, n.b, n.out, n.in_b, n.in_a));
        return give(n.b, add_contraction(g_, n.a, whole, n.in_a, n.out, n.in_b));
      }
      case operation::sum: return give(n.a, dz);
      case operation::largest: {  // equal maxima share the gradient
        int const mask = add_pair(g_, operation::equal, n.a, z);
        unsigned dims = 0;
        for (int d = 0; d < n.out.length; ++d)
          if (n.out.text[d] == '1') dims |= 1u << d;
        return give(n.a, product(quotient(dz, add_sum(g_, mask, dims, 0)), mask));
      }
      case operation::softmax: {
        int const row_sum = add_sum(g_, product(dz, z), 1u << (n.extents.rank() - 1), 0);
        return give(n.a, product(add_pair(g_, operation::subtract, dz, row_sum), z));
      }
      case operation::permute:
      case operation::reshape: return give(n.a, add_adjoint(g_, n.what, repeated(dz, z), n));
      case operation::keep:
      case operation::drop:
        if (n.what == operation::drop && n.a == n.b) return;  // z is 0 for every u
        return give(n.a, add_pair(g_, n.what, dz, n.b));
      case operation::cumulate: return give(n.a, add_map(g_, n.what, repeated(dz, z), -n.number));
      case operation::join: {
        int const whole = repeated(dz, z);
        give(n.a, add_part(g_, whole, n.out, n.in_a, 0, g_[n.a].extents));
        return give(n.b, add_part(g_, whole, n.out, n.in_b, 1, g_[n.b].extents));
      }
      case operation::slice: return give(n.a, add_adjoint(g_, operation::pad, repeated(dz, z), n));
      case operation::take_rows:
        return give(n.a, add_adjoint(g_, operation::add_rows, repeated(dz, z), n));
      default: throw error(g_.name, "a formula cannot contain gradients.");
    }
  }

  /// Gives `dz`, the adjoint of z = u + v, to the operand u. If u was repeated along a dim in which
  /// dz has extent 1, the adjoint of u is the sum over all copies of u. So dz is repeated first, so
  /// that the sum counts every copy.
  constexpr void give_repeated(int z, int u, int dz) {
    shape const &full = g_[z].extents, &have = g_[dz].extents, &own = g_[u].extents;
    bool lacks = false;
    for (int d = 1; d <= full.rank(); ++d) {
      std::int64_t const in_dz = d > have.rank() ? 1 : have[have.rank() - d];
      std::int64_t const in_u = d > own.rank() ? 1 : own[own.rank() - d];
      lacks = lacks || (in_dz == 1 && in_u == 1 && full[full.rank() - d] != 1);
    }
    give(u, lacks ? repeated(dz, z) : dz);
  }

  /// Adds `value` to the adjoint of node u, which is the gradient of the loss with respect to u. If
  /// u was repeated along dims, `value` is first summed over them.
  constexpr void give(int u, int value) {
    int const own = g_[u].extents.rank();
    int const removed = g_[value].extents.rank() - own;
    unsigned dims = 0;
    for (int d = 0; d < g_[value].extents.rank(); ++d)
      if (d < removed || (g_[u].extents[d - removed] == 1 && g_[value].extents[d] != 1))
        dims |= 1u << d;
    int const summed = add_sum(g_, value, dims, removed > 0 ? removed : 0);
    int& sum = adjoint_[u];
    sum = sum < 0 ? summed : add_pair(g_, operation::add, sum, summed);
  }

  /// Returns `value` repeated to the extents of node `like`.
  constexpr int repeated(int value, int like) {
    node n;
    n.what = operation::repeat;
    n.a = value;
    n.b = like;
    n.extents = g_[like].extents;
    n.in_a = repeated_letters(g_[value].extents, n.extents);
    n.in_b = n.out = first_letters(n.extents.rank());
    return n.in_a == n.out ? value : g_.add(n);
  }

  constexpr int finished(int leaf) {
    if (adjoint_[leaf] < 0 && is_used(leaf))  // used only as a mask or as ids
      return add_pair(g_, operation::drop, leaf, leaf);
    if (adjoint_[leaf] < 0)
      throw error(g_.name, "the formula does not use " + f_.name_of(leaf) + " of extents " +
                               to_string(g_[leaf].extents) +
                               ". Remove it from the function's parameters.");
    return repeated(adjoint_[leaf], leaf);
  }

  /// Returns whether y is computed from node `leaf`.
  constexpr bool is_used(int leaf) const {
    bool used[max_nodes]{};
    used[f_.y] = true;
    for (int i = f_.y; i > leaf; --i)
      for (int const u : {g_[i].a, g_[i].b})
        if (used[i] && u >= 0) used[u] = true;
    return used[leaf];
  }

  differentiated_formula& f_;
  graph& g_;
  int adjoint_[max_nodes]{};
};

}  // namespace detail

/// Finds the contractions whose only use is an addition to a tensor that is repeated, such as a
/// bias, and sets graph::joins_sum for them. Leaves out contractions whose result is copied to
/// another order of dims.
constexpr void find_joined(differentiated_formula& f) {
  graph& g = f.g;
  int uses[max_nodes]{};
  for (int i = 0; i < g.size(); ++i) {
    if (g[i].is_leaf()) continue;
    ++uses[g[i].a];
    if (g[i].reads_b()) ++uses[g[i].b];
  }
  for (int const result : {f.y, f.dx}) ++uses[result];
  for (int const result : f.gradients) ++uses[result];
  auto const fits = [&](int u, dim_letters const& in, dim_letters const& of_other,
                        dim_letters const& out) {
    node const& n = g[u];
    return n.what == operation::contract && uses[u] == 1 && in == out && !(of_other == out) &&
           !order_of_einsum({n.in_a, n.in_b, n.out, 2}).c.copied;
  };
  for (int i = 0; i < g.size(); ++i) {
    node const& n = g[i];
    if (n.what != operation::add) continue;
    if (fits(n.a, n.in_a, n.in_b, n.out)) g.joins_sum[n.a] = true;
    else if (fits(n.b, n.in_b, n.in_a, n.out)) g.joins_sum[n.b] = true;
  }
}

/// Adds the gradient to a formula whose x, y and weights are set. Throws ashlar::error if the
/// formula does not use x or one of its weights, or has too many operators.
constexpr void differentiate(differentiated_formula& f) {
  f.forward = f.g.size();
  node dy;
  dy.what = operation::output_gradient;
  dy.extents = f.g[f.y].extents;
  f.dy = f.g.add(dy);
  detail::differentiation(f).run();
  find_joined(f);
}

/// The nodes of y and of the gradients, and all nodes from which these are computed. The function
/// that became the formula may have added other nodes, which are not needed.
struct needed_nodes {
  bool has[max_nodes]{};

  constexpr explicit needed_nodes(differentiated_formula const& f) {
    mark(f.g, f.y);
    mark(f.g, f.dx);
    for (int const gradient : f.gradients) mark(f.g, gradient);
  }

 private:
  constexpr void mark(graph const& g, int i) {
    if (i < 0 || has[i]) return;
    has[i] = true;
    mark(g, g[i].a);
    mark(g, g[i].b);
  }
};

}  // namespace ashlar::formulas
