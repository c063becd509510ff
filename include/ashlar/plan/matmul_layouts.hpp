// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the placements of the matrices a, b and c at which the product c = a · b costs least. Each
// matrix is stored once, distributed over all ranks: every mesh axis splits one dim of the matrix,
// and nothing is replicated or partial.
//
//   1. Each mesh axis is assigned to one dim of the product, m, n or k. This gives a grid of
//      p1 x p2 x p3 ranks.
//   2. The local product reads a' and b' and makes c'. a' is replicated (B) on the axes of n, b' is
//      replicated on the axes of m, and c' is partial (P) on the axes of k.
//   3. Each matrix is stored at the placement with the cheapest redistribution to a' or b', or from
//      c'. Among equally cheap placements, the one with the least packing wins (usually a split of
//      dim 0), then one in canonical order.
//
// On average over the ranks, a rank receives at least the following number of elements, and exactly
// this number if all splits are even. The three terms are the elements of a', b' and c' that the
// rank does not already have:
//
//   mk/(p1 p3) (1 - 1/p2) + kn/(p2 p3) (1 - 1/p1) + mn/(p1 p2) (1 - 1/p3)
//
// For each grid, the seconds to receive these elements plus the seconds of the GEMM are a lower
// bound of the cost. The search tries grids in ascending order of this bound, and stops when the
// bound reaches the cost of the best plan. Axes of equal extent and tier are interchangeable. If
// grids differ only in such axes, the search tries one of them: the grid that assigns these axes in
// the order m, n, k.

#include <ashlar/plan/matmul.hpp>

namespace ashlar {

struct matmul_layouts {
  placement a, b, c;
  matmul_report plan;  ///< the plan of the product with a, b and c at these placements
};

namespace detail {

/// Assigns to each mesh axis the dim of the product that the axis splits: m, n or k (0, 1 or 2).
/// `code` has one digit in base 3 for each axis, which is this dim. The first axis is the most
/// significant digit.
struct product_grid {
  placement a, b, c;  ///< placements of the operands and the result of the local product
  double sizes[3] = {1, 1, 1};
  bool is_ordered = true;  ///< whether interchangeable axes are assigned in the order m, n, k

  constexpr product_grid(topology const& t, int code)
      : a(placement::all_broadcast(t.axes())), b(a), c(a) {
    int letters[max_axes] = {};
    for (int axis = t.axes() - 1; axis >= 0; --axis, code /= 3) letters[axis] = code % 3;
    for (int axis = 0; axis < t.axes(); ++axis) {
      int const letter = letters[axis];
      sizes[letter] *= t.extent(axis);
      if (letter == 0) a = a.with_split(axis, 0), c = c.with_split(axis, 0);
      if (letter == 1) b = b.with_split(axis, 1), c = c.with_split(axis, 1);
      if (letter == 2) {
        a = a.with_split(axis, 1);
        b = b.with_split(axis, 0);
        c = c.with(axis, partial());
      }
      for (int other = 0; other < axis; ++other)
        if (t.extent(other) == t.extent(axis) && t.axis[other].tier == t.axis[axis].tier &&
            letters[other] > letter)
          is_ordered = false;
    }
  }

  /// Returns a lower bound of the average number of elements of a', b' and c' that a rank receives,
  /// for an m x k and a k x n matrix. The bound is exact if all splits are even.
  constexpr double volume(double m, double n, double k) const {
    double const p1 = sizes[0], p2 = sizes[1], p3 = sizes[2];
    return m * k / (p1 * p3) * (1 - 1 / p2) + k * n / (p2 * p3) * (1 - 1 / p1) +
           m * n / (p1 * p2) * (1 - 1 / p3);
  }
};

constexpr bool is_stored_once(placement const& p) {
  for (auto const& role : p.axis)
    if (!role.is_split()) return false;
  return true;
}

/// Returns the index of the cheapest placement that stores each element on exactly one rank. `ways`
/// has, for every placement of the matrix, the cost of the redistribution to the placement that the
/// local product reads, or from the placement that it makes.
constexpr int nearest_storage(placement_graph const& graph, matmul_paths const& ways,
                              topology const& t) {
  int best = -1;
  std::int64_t best_packed = 0;
  for (int i = 0; i < graph.states(); ++i) {
    if (!is_stored_once(graph.state(i))) continue;
    double const margin = 1e-9 * ways.weight(i);
    if (best >= 0 && ways.weight(i) > ways.weight(best) + margin) continue;
    auto const plan = ways.plan(i);
    std::int64_t packed = 0;
    for (auto const& s : plan.steps) packed += packing_bytes(s, plan.extents, plan.element_size, t);
    bool const cheaper = best < 0 || ways.weight(i) < ways.weight(best) - margin;
    bool const simpler = !cheaper && (packed < best_packed ||
                                      (packed == best_packed && graph.state(i).is_canonical() &&
                                       !graph.state(best).is_canonical()));
    if (cheaper || simpler) best = i, best_packed = packed;
  }
  return best;
}

}  // namespace detail

/// Returns the best placements for the product of an m x k and a k x n matrix, and the plan of this
/// product. The placements are those of both matrices and of the result. `memory` is the most
/// memory that a rank may use, in bytes; 0 means no limit. If no grid's plan fits, the placements
/// are those of the cheapest grid, and plan_matmul finds a plan that fits, mostly in panels. Throws
/// ashlar::error if there is none.
constexpr matmul_layouts plan_matmul_layouts(std::int64_t m, std::int64_t n, std::int64_t k,
                                             topology const& t, int element_size, machine const& on,
                                             std::int64_t memory) {
  shape const a{m, k}, b{k, n}, c{m, n};
  placement_graph const graph(2, t);
  int grids = 1;
  for (int axis = 0; axis < t.axes(); ++axis) grids *= 3;
  scratch<double> bound(static_cast<std::size_t>(grids));
  double const beta = least_beta(on);
  for (int i = 0; i < grids; ++i) {
    detail::product_grid const grid(t, i);
    bound[static_cast<std::size_t>(i)] = unreachable;
    if (!grid.is_ordered) continue;
    auto const gemm = detail::local_product(a, grid.a, b, grid.b, false, false, t);
    bound[static_cast<std::size_t>(i)] = gemm_seconds(on, gemm) +
                                         grid.volume(double(m), double(n), double(k)) * beta *
                                             element_size;
  }
  matmul_layouts best, cheapest;
  double least = unreachable, least_of_all = least;
  for (int round = 0; round < grids; ++round) {
    int next = 0;
    for (int i = 1; i < grids; ++i)
      if (bound[static_cast<std::size_t>(i)] < bound[static_cast<std::size_t>(next)]) next = i;
    if (bound[static_cast<std::size_t>(next)] >= least) break;
    bound[static_cast<std::size_t>(next)] = unreachable;
    detail::product_grid const grid(t, next);
    auto const to = path_direction::to_end, from = path_direction::from_end;
    matmul_paths const to_a(graph, a, element_size, grid.a, to, on);
    matmul_paths const to_b(graph, b, element_size, grid.b, to, on);
    matmul_paths const from_c(graph, c, element_size, grid.c, from, on);
    matmul_plan plan;
    plan.a = to_a.plan(detail::nearest_storage(graph, to_a, t));
    plan.b = to_b.plan(detail::nearest_storage(graph, to_b, t));
    plan.c = from_c.plan(detail::nearest_storage(graph, from_c, t));
    plan.gemm = detail::local_product(a, grid.a, b, grid.b, false, false, t);
    plan.gemm_seconds = gemm_seconds(on, plan.gemm);
    plan.seconds = plan.a.seconds + plan.b.seconds + plan.c.seconds + plan.gemm_seconds;
    plan.peak_bytes = whole_peak_bytes(plan, t);
    matmul_layouts const found{plan.a.from, plan.b.from, plan.c.to, {plan, t, on}};
    if (plan.seconds < least_of_all) least_of_all = plan.seconds, cheapest = found;
    if (memory > 0 && plan.peak_bytes > memory) continue;
    if (plan.seconds < least * (1 - 1e-9)) least = plan.seconds, best = found;
  }
  if (least == unreachable) best = cheapest;
  best.plan = {
      plan_matmul(a, best.a, b, best.b, false, false, best.c, element_size, t, on, {memory}), t,
      on};
  return best;
}

/// Returns the result of the overload above with the memory of machine `on` as the limit.
constexpr matmul_layouts plan_matmul_layouts(std::int64_t m, std::int64_t n, std::int64_t k,
                                             topology const& t, int element_size,
                                             machine const& on) {
  return plan_matmul_layouts(m, n, k, t, element_size, on, on.memory);
}

}  // namespace ashlar
