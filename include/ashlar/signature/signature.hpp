// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A signature is one row of an operator's rule table, for ONE mesh axis: with its operands placed
// so, the operator run on the local shards gives the result placed so, with no communication.
//
//   S(0), B -> S(0)      "rows of the left operand split, the right one whole: rows of the result"
//
// Rows of different axes combine freely: an operator is local on a mesh if on every axis its
// placements match a row, and axes that split one letter do so in one order on all operands
// (`resolve`). Tables are proved by enumeration in tests/unit: each row right, no right row missing.

#include <optional>

#include <ashlar/placement/placement.hpp>

namespace ashlar {

struct signature {
  inplace_vector<axis_placement, 3> in;
  axis_placement out;
  friend constexpr bool operator==(signature const&, signature const&) = default;
};

using signature_table = inplace_vector<signature, 24>;

/// The index of the row whose operands have these roles on one axis; -1 if there is none.
template <class... Operands>
constexpr int find_row(signature_table const& table, Operands const&... operands) {
  for (int r = 0; r < table.size(); ++r) {
    int i = 0;
    if (((same_role(table[r].in[i++], operands)) && ...)) return r;
  }
  return -1;
}

/// The placement of the result when operands placed so need no communication. Empty if on some
/// axis no row matches; `failing_axis`, if given, then names that axis.
/// Shard order: the axes of a result dim are ordered as in the operand that splits with them.
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
    // Maxima of one operand and minima of the other have no common result placement.
    if (result.axis[a].is_partial() && result.axis[a].op != result.op()) {
      if (failing_axis != nullptr) *failing_axis = a;
      return std::nullopt;
    }
  }
  // Two axes that split one letter must nest in the same order on every operand that has it.
  for (int a = 0; a < axes; ++a) {
    if (result.axis[a].is_split()) result.axis[a].depth = 0;
    for (int b = 0; b < axes; ++b) {
      if (a == b) continue;
      bool known = false, before = false;  // whether b is outside a
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
