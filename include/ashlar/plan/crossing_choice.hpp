// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a tensor crosses to another part of a mesh, if a caller prescribes it. These are the
// strategies of the paper on cross-mesh resharding (section 3.1). In all of them, data enters a
// node only once, and the ranks of the node pass it on to each other.
//
//   cheapest           the plan of least predicted seconds
//   send               the tensor arrives as the target wants it, and crosses in one chunk unless
//                      crossing_choice::chunks is given
//   broadcast          the same, but in as many chunks as cost least, which the receivers pass on
//                      to each other
//   gather_in_nodes    along axes inside nodes on which the target is B, the tensor arrives split,
//                      and the ranks of each node gather it
//   gather_everywhere  along all axes on which the target is B, the tensor arrives split, and the
//                      ranks gather it
//
// A strategy does not prescribe the placement from which the tensor departs. The planner chooses
// the cheapest one.

#include <ashlar/mesh/topology.hpp>
#include <ashlar/placement/placement.hpp>

namespace ashlar {

enum class crossing_strategy : signed char {
  cheapest,
  send,
  broadcast,
  gather_in_nodes,
  gather_everywhere
};

inline constexpr crossing_strategy crossing_strategies[] = {
    crossing_strategy::cheapest, crossing_strategy::send, crossing_strategy::broadcast,
    crossing_strategy::gather_in_nodes, crossing_strategy::gather_everywhere};

struct crossing_choice {
  crossing_strategy how = crossing_strategy::cheapest;
  int chunks = 0;  ///< number of chunks; 0: one for `send`, else as many as cost least
  friend constexpr bool operator==(crossing_choice const&, crossing_choice const&) = default;
};

constexpr char const* name_of(crossing_strategy how) {
  switch (how) {
    case crossing_strategy::send: return "send";
    case crossing_strategy::broadcast: return "broadcast";
    case crossing_strategy::gather_in_nodes: return "gather_in_nodes";
    case crossing_strategy::gather_everywhere: return "gather_everywhere";
    default: return "cheapest";
  }
}

/// Returns whether strategy `how` permits a tensor to arrive at placement `at` on a part with the
/// mesh axes `axes`, if the target wants placement `to`. The redistribution from `at` to `to` takes
/// `seconds`.
constexpr bool may_arrive(crossing_strategy how, topology const& axes, placement const& at,
                          placement const& to, double seconds) {
  if (how == crossing_strategy::cheapest) return true;
  if (how == crossing_strategy::send || how == crossing_strategy::broadcast) return seconds == 0;
  for (int a = 0; a < axes.axes(); ++a) {
    if (axes.extent(a) == 1 || to[a].is_partial()) continue;
    bool const gathers = to[a].is_broadcast() && (how == crossing_strategy::gather_everywhere ||
                                                  axes.axis[a].tier == link_tier::intra_node);
    if (gathers ? !at[a].is_split() : !same_role(at[a], to[a])) return false;
  }
  return true;
}

}  // namespace ashlar
