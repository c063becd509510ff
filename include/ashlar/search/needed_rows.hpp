// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Removes signature rows that no optimal plan needs, to make searches that ignore shard order
// smaller. A row r is redundant if another row of the same layer can replace it in every plan
// without higher cost. The two rows may differ only in the dims that they split: where row r splits
// a dim d of a tensor, the other row splits a dim d' of that tensor. Four conditions must hold:
//
//   neighbours   The elements before and after the layer never split dim d of the layer's x or y.
//   extent       The extent of d' is divisible by the number of all ranks, so that d' is always
//                split evenly. Then no shard is larger than with d, and no redistribution step
//                moves more bytes. If a rank must have whole blocks of d' (block_spec), the number
//                of these blocks is divisible by the number of all ranks, too.
//   GEMMs        Dims d and d' count in the same extent (m, n or k) of the layer's GEMMs, or
//                neither counts in any (gemm_dims).
//   other dims   If d' is a dim of x, no window slides along it (halo_spec), and the layer keeps no
//                values that only splits of some dims of x divide (saved_values_beside).
//
// If a plan takes the other row instead of r, no redistribution step is added, and some steps may
// become unnecessary. For example, an activation function on images has rows that split height or
// width. If the convolution before it has no such rows, these rows of the activation function are
// redundant. On three axes, an image tensor then has 64 placements (without shard order) instead of
// 216.
//
// Statistics must have equal placements in both rows. Ends of residual blocks keep all rows.

#include <ashlar/step/schedule.hpp>

namespace ashlar::search {
namespace detail {

/// A change of the dims that one tensor splits: splits of dim `from` become splits of dim `to`.
struct dim_exchange {
  int from = -1, to = -1;  ///< -1 as long as no split changes

  /// Returns whether this change of dims turns placement `row` into placement `with`. If no change
  /// is set yet and the two placements split different dims, first sets the change to these dims.
  constexpr bool leads(axis_placement const& row, axis_placement const& with) {
    if (row.kind != with.kind || row.op != with.op) return false;
    if (!row.is_split()) return true;
    if (from < 0 && row.dim != with.dim) from = row.dim, to = with.dim;
    return with.dim == (row.dim == from ? to : row.dim);
  }

  /// Returns whether this change of dims turns `row` into `with` and also `other_row` into
  /// `other_with`. The two pairs are placements of tensors with the same dims, such as x and dx.
  /// The first pair is checked again at the end, because the second pair may have set `from` and
  /// `to`.
  constexpr bool leads(axis_placement const& row, axis_placement const& with,
                       axis_placement const& other_row, axis_placement const& other_with) {
    return leads(row, with) && leads(other_row, other_with) && leads(row, with);
  }
};

/// The dims of a layer's x and y that neighbouring elements split, for all occurrences of the layer
/// in the chain. Bit d stands for dim d. All bits are set if the layer is an end of a residual
/// block, or if a neighbour uses the tensor with other extents.
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

/// Returns whether signature row `with` can replace row `row` in every plan without higher cost.
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
        (x.to < 0 || x.to != spec.blocks.dim || spec.blocks.count % ranks == 0) &&
        (x.to < 0 || (x.to != spec.halo.dim && spec.saved_beside.empty())) &&
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

/// Returns a copy of the problem without the signature rows that no optimal plan needs.
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
