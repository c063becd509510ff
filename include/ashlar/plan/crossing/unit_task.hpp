// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A crossing moves a tensor between two meshes that have no rank in common. It consists of unit
// tasks. A unit task is a box of the tensor, with a list of the ranks of the target that must
// receive it and a list of the ranks of the source that can send it.
//
//   region      the common box of a tile of the source and a tile of the target
//   owners      the ranks that hold the tile of the source
//   receivers   the ranks that hold the tile of the target
//
// If the tensor is partial on both meshes, its addends cross without being reduced. Addend k of the
// source, in the order of the ranks along its partial axes, becomes addend k of the target. So both
// sides must have equally many addends, and the sum, maximum or minimum stays the same. Each unit
// task then belongs to one addend.
//
// Tiles are the distinct boxes that the ranks of a mesh hold, for each addend. The term unit task
// is from the paper on cross-mesh resharding (Zhuang et al. 2022, section 2.2). The text of the
// paper cuts the tensor only at the tiles of the source. We cut at the tiles of both sides, as the
// paper's example with 64 unit tasks does.

#include <vector>

#include <ashlar/layout/layout.hpp>
#include <ashlar/mesh/mesh_part.hpp>

namespace ashlar {

struct unit_task {
  box region;
  std::vector<int> owners, receivers;  ///< numbers of ranks on the whole mesh, ascending
  friend constexpr bool operator==(unit_task const&, unit_task const&) = default;
};

namespace detail {

/// A box of a tensor, or of an addend of it, and the ranks that hold it.
struct tile {
  box region;
  std::vector<int> ranks;
  int addend = 0;
};

/// Returns the number of addends of a tensor: 1 if the tensor is not partial.
constexpr int addends_of(placement const& p, topology const& t) {
  int n = 1;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) n *= t.extent(a);
  return n;
}

/// Returns the tiles of a tensor on a part of a mesh, without empty ones, in the order of their
/// first ranks on the part.
constexpr std::vector<tile> tiles(shape const& extents, mesh_part const& part, placement const& p) {
  std::vector<tile> found;
  // Ranks that differ only along axes where the tensor is broadcast hold the same tile.
  scratch<int> number(part.ranks.size(), -1);
  for (int i = 0; i < part.axes.ranks(); ++i) {
    auto first = part.axes.coordinates_of(i);
    for (int a = 0; a < p.axes(); ++a)
      if (p[a].is_broadcast()) first[static_cast<std::size_t>(a)] = 0;
    int const same = part.axes.rank_of(first);
    if (same == i) {
      auto const region = local_box(extents, part.axes, p, first);
      if (region.elements() == 0) continue;
      number.data()[i] = static_cast<int>(found.size());
      int addend = 0;
      for (int a = 0; a < p.axes(); ++a)
        if (p[a].is_partial())
          addend = addend * part.axes.extent(a) + first[static_cast<std::size_t>(a)];
      found.push_back({region, {}, addend});
    }
    int const k = number.data()[same];
    if (k >= 0) found.data()[k].ranks.push_back(part.ranks.data()[i]);
  }
  return found;
}

}  // namespace detail

/// Returns the unit tasks of a crossing of a tensor, in the order of the tiles of the target and
/// then of the source. Expects placements with equally many addends, and with the same reduction if
/// there are several addends.
constexpr std::vector<unit_task> unit_tasks(shape const& extents, mesh_part const& source,
                                            placement const& from, mesh_part const& target,
                                            placement const& to) {
  std::vector<unit_task> tasks;
  auto const given = detail::tiles(extents, source, from);
  auto const wanted = detail::tiles(extents, target, to);
  for (auto const& b : wanted)
    for (auto const& a : given) {
      if (a.addend != b.addend) continue;
      auto const common = intersect(a.region, b.region);
      if (common.elements() > 0) tasks.push_back({common, a.ranks, b.ranks});
    }
  return tasks;
}

}  // namespace ashlar
