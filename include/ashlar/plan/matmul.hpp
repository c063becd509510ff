// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a matrix product between given placements: which signature on each mesh axis, hence
// how the operands are redistributed before the local GEMM and the result after it.
//
//   total = redistribute(a -> a') + redistribute(b -> b') + GEMM(local) + redistribute(c' -> c)
//
// Every assignment of signatures to axes is priced: 1-D, 2-D, 2.5-D and 3-D algorithms are the
// same mechanism (AutoDDL section 4.2: the axes with S(0), S(1) and P of c' are p0, p1 and p2).

#include <ashlar/plan/redistribution.hpp>
#include <ashlar/signature/contraction.hpp>

namespace ashlar {

struct matmul_plan {
  redistribution_plan a, b;  ///< of the operands, to where the local product wants them
  redistribution_plan c;     ///< of the result, from where the local product leaves it
  double gemm_seconds = 0;
  double seconds = 0;
};

/// The cheapest plan of c = op(a) · op(b), c of extents m × n. Ties: the first row of the tables.
constexpr matmul_plan plan_matmul(shape const& a_extents, placement const& a,
                                  shape const& b_extents, placement const& b, bool transpose_a,
                                  bool transpose_b, placement const& c, int element_size,
                                  topology const& t, machine const& machine) {
  std::int64_t const rows = a_extents[transpose_a ? 1 : 0];
  std::int64_t const columns = b_extents[transpose_b ? 0 : 1];
  shape const c_extents{rows, columns};
  auto const table = matmul_signatures(transpose_a, transpose_b);
  placement_graph const graph(2, t);
  auto const a_cost = graph.price(a_extents, element_size, machine);
  auto const b_cost = graph.price(b_extents, element_size, machine);
  auto const c_cost = graph.price(c_extents, element_size, machine);
  auto const from_a = graph.shortest_from(graph.find(a), a_cost);
  auto const from_b = graph.shortest_from(graph.find(b), b_cost);
  int const target = graph.find(c);

  // The way from c' to c is looked up per distinct c'.
  scratch<double> to_c(static_cast<std::size_t>(graph.states()), -1.0);
  int assignments = 1;
  for (int i = 0; i < t.axes(); ++i) assignments *= table.size();
  double best = 1e300;
  placement best_a = a, best_b = b, best_c = c;
  double best_gemm = 0;
  for (int assignment = 0; assignment < assignments; ++assignment) {
    placement pa = placement::all_broadcast(t.axes()), pb = pa, pc = pa;
    int rest = assignment;
    for (int i = 0; i < t.axes(); ++i) {
      auto const& row = table[rest % table.size()];
      rest /= table.size();
      auto const place = [i](placement& p, axis_placement role) {
        if (role.is_split()) p = p.with_split(i, role.dim);
        else p.axis[i] = role;
      };
      place(pa, row.in[0]);
      place(pb, row.in[1]);
      place(pc, row.out);
    }
    auto const ia = static_cast<std::size_t>(graph.find(pa));
    auto const ib = static_cast<std::size_t>(graph.find(pb));
    auto const ic = static_cast<std::size_t>(graph.find(pc));
    double const before = from_a.weight[ia] + from_b.weight[ib];
    if (before >= best) continue;
    auto const la = local_box(a_extents, t, pa, {}), lb = local_box(b_extents, t, pb, {});
    double const gemm = 2.0 * double(la.elements()) * double(lb[transpose_b ? 0 : 1].size) /
                        machine.flops;
    if (before + gemm >= best) continue;
    if (to_c[ic] < 0)
      to_c[ic] = graph.shortest_from(static_cast<int>(ic), c_cost, target)
                     .weight[static_cast<std::size_t>(target)];
    if (before + gemm + to_c[ic] < best) {
      best = before + gemm + to_c[ic];
      best_a = pa;
      best_b = pb;
      best_c = pc;
      best_gemm = gemm;
    }
  }
  matmul_plan plan;
  plan.a = plan_in_graph(graph, a_cost, a_extents, element_size, a, best_a, machine);
  plan.b = plan_in_graph(graph, b_cost, b_extents, element_size, b, best_b, machine);
  plan.c = plan_in_graph(graph, c_cost, c_extents, element_size, best_c, c, machine);
  plan.gemm_seconds = best_gemm;
  plan.seconds = plan.a.seconds + plan.b.seconds + plan.c.seconds + best_gemm;
  return plan;
}

}  // namespace ashlar
