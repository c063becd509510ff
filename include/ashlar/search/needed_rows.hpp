// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Removes rows from a problem that no optimum needs as long as shard order does not count. Row r of
// a layer is redundant if another row differs from it only by splitting a dim d' where r splits a
// dim d, with at most one such pair (d, d') per tensor, and if
//
//   neighbours   never split d of what they pass to the layer or receive from it
//   d'           has an extent divisible by the number of all ranks, so that it is always split
//                evenly. No shard is then larger, and no step moves more, than with d
//   products     count d and d' in the same dim (m, n or k) of the layer's GEMMs (gemm_dims)
//
// Every plan can then use the other row instead of r: a step from a split of d to a split of d'
// vanishes, and all other steps remain. For example, the table of an activation function on images
// has rows that split height or width, but the table of a convolution may not. Without those rows
// there are 64 states on three axes instead of 216.
//
// The roles of statistics must be equal in both rows. The ends of residuals keep all their rows.

#include <ashlar/step/schedule.hpp>

namespace ashlar::search {
namespace detail {

/// Splits of dim `from` of a tensor that become splits of dim `to`.
struct dim_exchange {
  int from = -1, to = -1;  ///< -1 if no split changes

  /// Returns whether role `with` equals role `row` except for this exchange of dims. If the
  /// exchange is not yet known, it is set to the first difference.
  constexpr bool leads(axis_placement const& row, axis_placement const& with) {
    if (row.kind != with.kind || row.op != with.op) return false;
    if (!row.is_split()) return true;
    if (from < 0 && row.dim != with.dim) from = row.dim, to = with.dim;
    return with.dim == (row.dim == from ? to : row.dim);
  }

  /// Returns the same for the two roles that one tensor has in a row, such as those of x and dx.
  constexpr bool leads(axis_placement const& row, axis_placement const& with,
                       axis_placement const& other_row, axis_placement const& other_with) {
    return leads(row, with) && leads(other_row, other_with) && leads(row, with);
  }
};

/// The dims that the neighbours of a layer split at any place where the layer occurs: bit d for dim
/// d.
struct neighbour_dims {
  unsigned x = 0, y = 0;
};

template <int N>
constexpr neighbour_dims dims_around(basic_problem<N> const& net, int layer) {
  neighbour_dims dims;
  auto const take = [](unsigned& to, axis_placement const& role) {
    if (role.is_split()) to |= 1u << role.dim;
  };
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].layer != layer) continue;
    layer_spec const& spec = net.spec(i);
    if (net[i].kind != element_kind::layer || (i > 0 && !(boundary_extents(net, i - 1) == spec.x)))
      dims.x = ~0u;
    if (net[i].kind != element_kind::layer ||
        (i + 1 < net.size() && !(boundary_extents(net, i) == spec.y)))
      dims.y = ~0u;
    if (i > 0)
      for (auto const& row : net.spec(i - 1).rows) take(dims.x, row.y), take(dims.x, row.dy);
    if (i + 1 < net.size())
      for (auto const& row : net.spec(i + 1).rows) take(dims.y, row.x), take(dims.y, row.dx);
  }
  return dims;
}

/// Returns whether row `with` makes row `row` redundant.
constexpr bool replaces(training_row const& with, training_row const& row, layer_spec const& spec,
                        neighbour_dims const& around, int ranks) {
  auto const permits = [ranks](dim_exchange const& it, shape const& extents, unsigned kept) {
    return it.from < 0 || ((kept >> it.from & 1u) == 0 && extents[it.to] % ranks == 0);
  };
  auto const alike = [](dim_exchange const& it, unsigned dims) {
    return it.from < 0 || (dims >> it.from & 1u) == (dims >> it.to & 1u);
  };
  dim_exchange x, y;
  if (!(x.leads(row.x, with.x, row.dx, with.dx) && permits(x, spec.x, around.x) &&
        y.leads(row.y, with.y, row.dy, with.dy) && permits(y, spec.y, around.y) &&
        row.stat == with.stat && alike(x, spec.gemm.m) && alike(x, spec.gemm.k) &&
        alike(y, spec.gemm.n)))
    return false;
  for (int k = 0; k < spec.parameters.size(); ++k) {
    dim_exchange p;
    if (!p.leads(row.use[k], with.use[k], row.grad[k], with.grad[k]) ||
        !permits(p, spec.parameters[k].extents, 0))
      return false;
  }
  return true;
}

}  // namespace detail

template <int N>
constexpr basic_problem<N> with_needed_rows(basic_problem<N> const& net, topology const& t) {
  basic_problem<N> less = net;
  for (int l = 0; l < length(net.layers); ++l) {
    auto const around = detail::dims_around(net, l);
    layer_spec& spec = *(less.layers.begin() + l);
    for (int r = spec.rows.size() - 1; r >= 0; --r) {
      bool needed = true;
      for (int other = 0; other < spec.rows.size() && needed; ++other)
        needed = other == r ||
                 !detail::replaces(spec.rows[other], spec.rows[r], net.layer(l), around, t.ranks());
      if (needed) continue;
      training_table kept;
      for (int k = 0; k < spec.rows.size(); ++k)
        if (k != r) kept.push_back(spec.rows[k]);
      spec.rows = kept;
    }
  }
  return less;
}

}  // namespace ashlar::search
