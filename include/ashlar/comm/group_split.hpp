// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Determines the groups of ranks along a list of axes, for MPI_Comm_split and ncclCommSplit. The
// members of a group differ only along these axes and are numbered in the order of the list. All
// ranks of the mesh split at once, each into its own group.
//
//   color   identifies the group: the rank of the member whose coordinates along the axes are all 0
//   key     the index of this rank in the group
//
// The list of all axes in the mesh's order is the whole mesh and needs no split. A list of the same
// axes in a different order is a different group, because its members have different indices.

#include <string>

#include <ashlar/mesh/text.hpp>

namespace ashlar {

struct group_split {
  int color = 0;
  int key = 0;
  int members = 1;
  bool is_whole = false;  ///< whether the group has all ranks in their order
};

constexpr group_split split_of(topology const& t, coordinates const& here, axis_list const& axes) {
  group_split s;
  coordinates first = here;
  for (auto const a : axes) first[static_cast<std::size_t>(a)] = 0;
  s.color = t.rank_of(first);
  s.key = t.index_in_group(here, axes);
  s.members = t.group_size(axes);
  // Axes of extent 1 are ignored, since they change neither members nor positions.
  s.is_whole = s.members == t.ranks();
  int before = -1;
  for (auto const a : axes) {
    if (t.extent(a) == 1) continue;
    if (a < before) s.is_whole = false;
    before = a;
  }
  return s;
}

}  // namespace ashlar
