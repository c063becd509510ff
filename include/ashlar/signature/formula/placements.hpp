// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the placements of all tensors of a formula and of its gradient from the placements of x
// and the weights. The placement of each result follows from the signature table of its operator
// (`resolve` in signature/signature.hpp), on all mesh axes and with shard orders. The gradient of y
// is split where y is split. It is B where y is B or P, since every addend of a partial sum has the
// gradient of the sum.

#include <ashlar/signature/formula/rows.hpp>

namespace ashlar::formulas {

/// The placements of all needed nodes of a formula, or the node that is not local.
struct formula_placements {
  placement of[max_nodes];
  int failing_node = -1;  ///< the first operator that would need communication, or -1
  int failing_axis = 0;
};

namespace detail {

/// Returns the placement of `value` repeated to the extents of a tensor with placement `like`. If
/// `table` has no row for this on an axis, writes the axis to `axis` and returns nothing.
constexpr std::optional<placement> repeated_placement(signature_table const& table, int* axis,
                                                      placement const& value,
                                                      placement const& like) {
  placement result = value;
  for (int a = 0; a < value.axes(); ++a) {
    if (like[a].is_split()) result.axis[a] = like[a];
    bool holds = false;
    for (auto const& row : table)
      holds = holds || (same_role(row.in[0], value[a]) && same_role(row.out, result[a]));
    if (holds) continue;
    *axis = a;
    return std::nullopt;
  }
  return result;
}

}  // namespace detail

/// Returns the placements of all needed nodes of `f`, which must have no targets. `x` and `weights`
/// have equally many axes.
constexpr formula_placements
placements_of(differentiated_formula const& f, placement const& x,
              inplace_vector<placement, max_parameters> const& weights) {
  formula_placements all;
  all.of[f.x] = x;
  for (int k = 0; k < f.weights.size(); ++k) all.of[f.weights[k]] = weights[k];
  needed_nodes const needed(f);
  for (int i = 0; i < f.g.size(); ++i) {
    node const& n = f.g[i];
    if (n.what == operation::output_gradient) {
      all.of[i] = all.of[f.y];
      for (int a = 0; a < x.axes(); ++a)
        if (!all.of[i][a].is_split()) all.of[i].axis[a] = broadcast();
    }
    if (n.is_leaf() || !needed.has[i]) continue;
    auto const table = table_of(f.g, i);
    auto const& u = all.of[n.a];
    int axis = 0;
    auto const result = n.what == operation::repeat
                            ? detail::repeated_placement(table, &axis, u, all.of[n.b])
                        : n.b < 0 ? resolve(table, &axis, u)
                                  : resolve(table, &axis, u, all.of[n.b]);
    if (!result) {
      all.failing_node = i;
      all.failing_axis = axis;
      return all;
    }
    all.of[i] = *result;
  }
  return all;
}

}  // namespace ashlar::formulas
