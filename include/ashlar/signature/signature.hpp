// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A signature is one row of an operator's signature table, for ONE mesh axis. It lists a placement
// of each operand and of the result. If the operands have these placements, the operator needs no
// communication: running it on the local shards gives the result in its placement.
//
//   S(0), B -> S(0)      the rows of the left operand are split and the right operand is broadcast:
//                        the rows of the result are split
//
// Different axes may match different rows. An operator is local on a mesh if three conditions hold
// (see `resolve`):
// - On every axis, the placements match a row.
// - If several axes split a dim that operands have in common, they nest in the same order on all
//   these operands.
// - If the result is partial on several axes, it has the same reduction on all of them.
//
// Tests in tests/unit prove each table by enumeration: every row is right, and no right row is
// missing.

#include <optional>

#include <ashlar/placement/placement.hpp>

namespace ashlar {

struct signature {
  inplace_vector<axis_placement, 3> in;
  axis_placement out;
  friend constexpr bool operator==(signature const&, signature const&) = default;
};

using signature_table = inplace_vector<signature, 24>;

/// Returns the index of the first row whose operands have these placements on one axis, or -1 if
/// there is none.
template <class... Operands>
constexpr int find_row(signature_table const& table, Operands const&... operands) {
  for (int r = 0; r < table.size(); ++r) {
    int i = 0;
    if (((same_role(table[r].in[i++], operands)) && ...)) return r;
  }
  return -1;
}

/// Returns the placement of an operator's result, given the placements of its operands, if no
/// communication is needed. Otherwise returns an empty optional and writes the index of a failing
/// axis to `failing_axis`, unless that pointer is null. An axis fails in three cases:
/// - No row of the table has the operands' placements on this axis.
/// - The result would have another reduction on this axis than on an earlier axis.
/// - This axis and another axis together split a dim of one operand and a dim of another operand,
///   but in different shard orders.
///
/// If two axes split the same dim of the result, they nest in the same order as on an operand of
/// which both axes split one dim. If there is no such operand, they nest in the order of the mesh
/// axes.
template <class... Placements>
constexpr std::optional<placement> resolve(signature_table const& table, int* failing_axis,
                                           Placements const&... operands) {
  placement const* const all[] = {&operands...};
  int const axes = all[0]->axes();
  placement result = placement::all_broadcast(axes);
  for (int a = 0; a < axes; ++a) {
    int const row = find_row(table, operands[a]...);
    if (row < 0) {
      if (failing_axis != nullptr) *failing_axis = a;
      return std::nullopt;
    }
    result.axis[a] = table[row].out;
    // The result would be partial with different reductions on two axes, such as a maximum and a
    // minimum. No placement can describe such a result.
    if (result.axis[a].is_partial() && result.axis[a].op != result.op()) {
      if (failing_axis != nullptr) *failing_axis = a;
      return std::nullopt;
    }
  }
  // Two axes that split a dim that operands have in common must nest in the same order on all these
  // operands.
  for (int a = 0; a < axes; ++a) {
    if (result.axis[a].is_split()) result.axis[a].depth = 0;
    for (int b = 0; b < axes; ++b) {
      if (a == b) continue;
      bool known = false, before = false;  // `before`: axis b is outside axis a
      for (std::size_t i = 0; i < sizeof...(operands); ++i) {
        auto const &pa = (*all[i])[a], &pb = (*all[i])[b];
        if (!pa.is_split() || !pb.is_split_of(pa.dim)) continue;
        bool const here = pb.depth < pa.depth;
        if (known && here != before) {
          if (failing_axis != nullptr) *failing_axis = a;
          return std::nullopt;
        }
        known = true;
        before = here;
      }
      if (result.axis[a].is_split() && result.axis[b].is_split_of(result.axis[a].dim) &&
          (known ? before : b < a))
        ++result.axis[a].depth;
    }
  }
  return result;
}

}  // namespace ashlar
