// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a matrix product between given placements: which signature on each mesh axis, hence
// how the operands are redistributed before the local GEMM and the result after it.
//
//   total = redistribute(a -> a') + redistribute(b -> b') + GEMM(local) + redistribute(c' -> c)
//
// Every assignment of signatures to axes is priced, with every shard order: 1-D, 2-D, 2.5-D and 3-D
// algorithms are the same mechanism (AutoDDL section 4.2: the axes with S(0), S(1) and P of c' are
// p0, p1 and p2).

#include <ashlar/plan/redistribution.hpp>
#include <ashlar/signature/contraction.hpp>

namespace ashlar {
namespace detail {

/// `p` with `role` on `axis`; a split enters its dim's list of axes at `depth`.
constexpr placement with_role(placement p, int axis, axis_placement role, int depth) {
  p.axis[axis] = role;
  if (!role.is_split()) return p;
  for (int a = 0; a < p.axes(); ++a)
    if (a != axis && p.axis[a].is_split_of(role.dim) && p.axis[a].depth >= depth) ++p.axis[a].depth;
  p.axis[axis].depth = static_cast<signed char>(depth);
  return p;
}

/// Calls visit(a, b, c) for all placements with which c = a · b is local: each row of the table on
/// each axis from `axis` on, and each order of the axes that split one letter; canonical first.
template <class Visit>
constexpr void for_each_local_product(signature_table const& table, placement const& a,
                                      placement const& b, placement const& c, int axis,
                                      Visit& visit) {
  if (axis == a.axes()) return visit(a, b, c);
  for (auto const& row : table) {
    int const last = row.in[0].is_split()   ? a.split_count(row.in[0].dim)
                     : row.in[1].is_split() ? b.split_count(row.in[1].dim)
                                            : 0;
    for (int depth = last; depth >= 0; --depth)
      for_each_local_product(table, with_role(a, axis, row.in[0], depth),
                             with_role(b, axis, row.in[1], depth),
                             with_role(c, axis, row.out, depth), axis + 1, visit);
  }
}

}  // namespace detail

struct matmul_plan {
  redistribution_plan a, b;  ///< of the operands, to where the local product wants them
  redistribution_plan c;     ///< of the result, from where the local product leaves it
  double gemm_seconds = 0;
  double seconds = 0;
};

/// The cheapest plan of c = op(a) · op(b), matrices or (rank 3) batches of them. Ties: the first row
/// of the tables. An end that is partial with another reduction than sum is reduced on its way.
constexpr matmul_plan plan_matmul(shape const& a_extents, placement const& a,
                                  shape const& b_extents, placement const& b, bool transpose_a,
                                  bool transpose_b, placement const& c, int element_size,
                                  topology const& t, machine const& machine) {
  int const rank = a_extents.rank(), first = rank - 2, second = rank - 1;
  shape c_extents = a_extents;
  c_extents[first] = a_extents[transpose_a ? second : first];
  c_extents[second] = b_extents[transpose_b ? first : second];
  auto const table = product_signatures(rank, transpose_a, transpose_b);
  placement_graph const graph(rank, t);
  auto const a_cost = graph.price(a_extents, element_size, machine);
  auto const b_cost = graph.price(b_extents, element_size, machine);
  auto const c_cost = graph.price(c_extents, element_size, machine);
  auto const of_sums = [](placement p) {  // the graph knows no other reduction
    for (auto& role : p.axis)
      if (role.is_partial() && role.op != reduction::sum) role = broadcast();
    return p;
  };
  auto const from_a = graph.shortest_from(graph.find(of_sums(a)), a_cost);
  auto const from_b = graph.shortest_from(graph.find(of_sums(b)), b_cost);
  int const target = graph.find(of_sums(c));

  // The way from c' to c is looked up per distinct c'.
  scratch<double> to_c(static_cast<std::size_t>(graph.states()), -1.0);
  double best = 1e300;
  placement best_a = a, best_b = b, best_c = c;
  double best_gemm = 0;
  auto const consider = [&](placement const& pa, placement const& pb, placement const& pc) {
    auto const ia = static_cast<std::size_t>(graph.find(pa));
    auto const ib = static_cast<std::size_t>(graph.find(pb));
    auto const ic = static_cast<std::size_t>(graph.find(pc));
    double const before = from_a.weight[ia] + from_b.weight[ib];
    if (before >= best) return;
    auto const la = local_box(a_extents, t, pa, {}), lb = local_box(b_extents, t, pb, {});
    double const gemm = 2.0 * double(la.elements()) *
                        double(lb[transpose_b ? first : second].size) / machine.flops;
    if (before + gemm >= best) return;
    if (to_c[ic] < 0)
      to_c[ic] = graph.shortest_from(static_cast<int>(ic), c_cost, target)
                     .weight[static_cast<std::size_t>(target)];
    if (before + gemm + to_c[ic] >= best) return;
    best = before + gemm + to_c[ic];
    best_a = pa;
    best_b = pb;
    best_c = pc;
    best_gemm = gemm;
  };
  auto const whole = placement::all_broadcast(t.axes());
  detail::for_each_local_product(table, whole, whole, whole, 0, consider);
  matmul_plan plan;
  auto const plan_of = [&](shape const& extents, scratch<double> const& cost, placement const& from,
                           placement const& to) {
    bool const sums = from.op() == reduction::sum && to.op() == reduction::sum;
    return sums ? plan_in_graph(graph, cost, extents, element_size, from, to, machine)
                : plan_redistribution(extents, element_size, from, to, t, machine);
  };
  plan.a = plan_of(a_extents, a_cost, a, best_a);
  plan.b = plan_of(b_extents, b_cost, b, best_b);
  plan.c = plan_of(c_extents, c_cost, best_c, c);
  plan.gemm_seconds = best_gemm;
  plan.seconds = plan.a.seconds + plan.b.seconds + plan.c.seconds + best_gemm;
  return plan;
}

}  // namespace ashlar
