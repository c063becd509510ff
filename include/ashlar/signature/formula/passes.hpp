// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the passes of a formula compute, and what the forward pass keeps. The backward pass needs
// some results of the forward pass. For each of them:
//
//   x and the weights      are available in the backward pass
//   element-wise results   are computed again from their operands. This costs one pass over memory,
//                          as reading a kept value would
//   products and sums      are kept, and so is the sum of a product and a bias
//
// All other results are temporaries. An element-wise result overwrites an operand of its size that
// is no longer needed. A result that only nodes of one group need (row_groups.hpp) takes the memory
// of a few rows on the host, which does not count. A search does not know on which processor the
// net will run, so memory is counted as on the host. A GPU needs more: it computes no groups, and
// it copies each repeated operand to an array of the result's extents (tensor/repeated.hpp).
//
// All counts are for the whole formula, before it is distributed.

#include <algorithm>

#include <ashlar/signature/einsum.hpp>
#include <ashlar/signature/formula/adjoint.hpp>
#include <ashlar/signature/formula/row_groups.hpp>

namespace ashlar::formulas {

/// The nodes that one pass computes and reads. row_groups.hpp has the order of the computation.
struct pass_nodes {
  bool computes[max_nodes]{};
  bool reads[max_nodes]{};  ///< leaves and kept values that the pass reads
};

/// The parts of a backward pass: a pass may compute dx, the gradients of the weights, or both.
enum class backward_part : signed char { input, weights, both };

/// Returns the orders of dims in which a contraction reads its operands and writes its result. With
/// these orders, the contraction consists of products of matrices (signature/einsum.hpp).
constexpr einsum_order order_of_contraction(node const& n) {
  return order_of_einsum({n.in_a, n.in_b, n.out, 2});
}

namespace detail {

/// Marks the nodes that a pass computes to get node i, and the nodes that it reads for this. The
/// pass reads all leaves. Of the other nodes, it reads those with a number below `recomputed_from`
/// that are the sum of a product and a bias or are not element-wise. It computes all the rest.
constexpr void need(graph const& g, int i, int recomputed_from, pass_nodes& pass) {
  if (i < 0 || pass.computes[i] || pass.reads[i]) return;
  node const& n = g[i];
  bool const is_kept = !n.is_element_wise() || g.joined(i) >= 0;
  if (n.is_leaf() || (i < recomputed_from && is_kept)) {
    pass.reads[i] = true;
    return;
  }
  pass.computes[i] = true;
  need(g, n.a, recomputed_from, pass);
  if (n.reads_b()) need(g, n.b, recomputed_from, pass);
}

}  // namespace detail

/// Returns what the forward pass computes.
constexpr pass_nodes forward_nodes(differentiated_formula const& f) {
  pass_nodes pass;
  detail::need(f.g, f.y, 0, pass);
  return pass;
}

/// Returns what the backward pass, or a part of it, computes and which nodes of the forward pass it
/// reads.
constexpr pass_nodes backward_nodes(differentiated_formula const& f, backward_part part) {
  pass_nodes pass;
  if (part != backward_part::weights) detail::need(f.g, f.dx, f.forward, pass);
  if (part != backward_part::input)
    for (int const gradient : f.gradients) detail::need(f.g, gradient, f.forward, pass);
  return pass;
}

/// Returns the nodes that the forward pass keeps besides x: the nodes of the formula that the
/// backward pass reads and that are not leaves.
constexpr inplace_vector<int, max_nodes> kept_nodes(differentiated_formula const& f,
                                                    pass_nodes const& backward) {
  inplace_vector<int, max_nodes> kept;
  for (int i = 0; i < f.forward; ++i)
    if (backward.reads[i] && !f.g[i].is_leaf()) kept.push_back(i);
  return kept;
}

namespace detail {

/// Returns the most elements that the intermediate results of a reduction have at one time. A sum
/// or a maximum reduces each run of neighbouring dims at once, beginning with the last run
/// (tensor/formula_kernels.hpp). Each run except the last has an intermediate result, which is kept
/// until the result of the next run is complete.
constexpr double between_runs(graph const& g, node const& n) {
  if (n.what != operation::sum && n.what != operation::largest) return 0;
  shape const& x = g[n.a].extents;
  auto const is_reduced = [&](int d) { return !n.out.has(n.in_a.text[d]); };
  double left = static_cast<double>(x.elements()), previous = 0, most = 0;
  for (int d = x.rank() - 1; d >= 0; --d) {
    if (!is_reduced(d)) continue;
    for (; d >= 0 && is_reduced(d); --d) left /= static_cast<double>(x[d]);
    bool is_last = true;
    for (int e = 0; e < d; ++e) is_last = is_last && !is_reduced(e);
    if (is_last) break;
    most = std::max(most, previous + left);
    previous = left;
  }
  return most;
}

}  // namespace detail

/// Returns the largest number of elements that the temporaries of a pass have at one time, while
/// the host computes the pass (tensor/evaluate.hpp). `placed` are the nodes that are computed into
/// memory of the caller, and `added` the nodes that are added to sums. Only nodes i for which
/// counts(i) is true are counted. The function alike(i, k) is called for nodes i and k whose whole
/// tensors have equal sizes. It says whether their shards have equal sizes, too. Node i may
/// overwrite node k only if they have.
template <class Counts, class Alike>
constexpr double temporaries_of(graph const& g, pass_nodes const& pass,
                                inplace_vector<int, max_nodes> const& placed,
                                inplace_vector<int, max_parameters> const& added,
                                Counts const& counts, Alike const& alike) {
  int uses[max_nodes]{};
  bool owns[max_nodes]{};
  for (int i = 0; i < g.size(); ++i) {
    if (!pass.computes[i]) continue;
    ++uses[g[i].a];
    if (g[i].reads_b()) ++uses[g[i].b];
  }
  for (int const i : added) ++uses[i];
  double held = 0, most = 0;
  auto const size = [&](int i) {
    return counts(i) ? static_cast<double>(g[i].extents.elements()) : 0.0;
  };
  auto const used = [&](int i) {
    if (--uses[i] == 0 && owns[i]) held -= size(i);
  };
  auto const computed = order_of(g, pass.computes);
  for (int first = 0; first < computed.nodes.size();) {
    int const end = computed.end_of_group(first);
    int inside[max_nodes]{};  // by node: its uses in the group
    if (end - first > 1)
      for (int p = first; p < end; ++p) {
        ++inside[g[computed.nodes[p]].a];
        if (g[computed.nodes[p]].reads_b()) ++inside[g[computed.nodes[p]].b];
      }
    for (int p = first; p < end; ++p) {
      int const i = computed.nodes[p];
      node const& n = g[i];
      if (uses[i] == inside[i] && !placed.contains(i)) continue;
      int reused = -1;
      if (n.may_overwrite())
        for (int const from : {n.b, n.a})
          if (from >= 0 && owns[from] && uses[from] == (n.a == n.b ? 2 : 1) &&
              g[from].extents.elements() == n.extents.elements() && alike(i, from))
            reused = from;
      einsum_order order;
      int const product = g.joined(i);
      if (n.what == operation::contract) order = order_of_contraction(n);
      else if (product >= 0) order = order_of_contraction(g[product]);
      bool const is_added = n.what == operation::contract && !order.c.copied && uses[i] == 1 &&
                            added.contains(i);
      if (reused >= 0 && !placed.contains(i)) {
        owns[reused] = false;
        owns[i] = true;
      } else if (!is_added && !placed.contains(i)) {
        owns[i] = true;
        held += size(i);
      }
      bool const is_gradient = n.what == operation::apply_gradient ||
                               n.what == operation::power_gradient;
      double copies = is_gradient && !(n.in_b == n.out) ? size(i) : 0;
      node const& multiplied = product >= 0 ? g[product] : n;
      if (order.a.copied) copies += size(multiplied.a);
      if (order.b.copied) copies += size(multiplied.b);
      if (order.c.copied) copies += size(i);
      if (counts(i)) copies += detail::between_runs(g, n);
      if (held + copies > most) most = held + copies;
    }
    for (; first < end; ++first) {
      node const& n = g[computed.nodes[first]];
      used(n.a);
      if (n.reads_b()) used(n.b);
      if (int const product = g.joined(computed.nodes[first]); product >= 0) {
        used(g[product].a);
        used(g[product].b);
      }
    }
  }
  return most;
}

/// A product is the dominant one if it has at least this part of the flops of y. The cost model
/// then prices all products with the extents of this product.
inline constexpr double dominant_part = 0.75;

/// The work of a pass.
struct pass_work {
  double flops = 0;   ///< floating-point operations of contractions
  double values = 0;  ///< elements that the operators read and write
};

/// Returns the work of the nodes that a pass computes. A contraction z = u v counts the values that
/// nn::linear counts for its product (set_product_costs in nn/linear.hpp): the elements of z where
/// z is computed, the elements of dz where dv is computed, and none where du is computed.
constexpr pass_work work_of(differentiated_formula const& f, pass_nodes const& pass) {
  graph const& g = f.g;
  pass_work work;
  for (int i = 0; i < g.size(); ++i) {
    if (!pass.computes[i]) continue;
    node const& n = g[i];
    if (n.what == operation::contract) {
      bool const is_dv = n.b >= f.forward;  // the contraction of u and dz
      work.flops += flops_of(g, i);
      if (g.joins_sum[i]) continue;  // the sum with the bias counts the elements
      if (i < f.forward) work.values += static_cast<double>(n.extents.elements());
      else if (is_dv) work.values += static_cast<double>(g[n.b].extents.elements());
      continue;
    }
    work.values += static_cast<double>(n.extents.elements());
    // If the node adds a bias to a product, only its result counts, as in nn::linear.
    if (g.joined(i) >= 0) continue;
    work.values += static_cast<double>(g[n.a].extents.elements());
    if (n.reads_b() && n.b != n.a) work.values += static_cast<double>(g[n.b].extents.elements());
  }
  return work;
}

/// Returns the node of the contraction z = u v that has at least dominant_part of the flops of the
/// forward pass, or -1 if there is none. u must have the extents of x and must not be computed from
/// another contraction, so that its dims are those of x. z must have the extents of y, and v must
/// be a matrix.
constexpr int dominant_product(differentiated_formula const& f) {
  graph const& g = f.g;
  auto const forward = forward_nodes(f);
  double all = 0, most = 0;
  int product = -1;
  bool follows_from_product[max_nodes]{};
  for (int i = 0; i < f.forward; ++i) {
    if (!forward.computes[i]) continue;
    node const& n = g[i];
    double const flops = flops_of(g, i);
    all += flops;
    follows_from_product[i] = flops > 0 || follows_from_product[n.a] ||
                              (n.b >= 0 && follows_from_product[n.b]);
    if (flops <= most) continue;
    most = flops;
    bool const fits = g[n.a].extents == g[f.x].extents && !follows_from_product[n.a] &&
                      n.extents == g[f.y].extents && g[n.b].extents.rank() == 2;
    product = fits ? i : -1;
  }
  return most >= dominant_part * all ? product : -1;
}

}  // namespace ashlar::formulas
