// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a part of a mesh: some of its ranks, arranged along axes of their own. A part is a
// value, without processes. Rank i of the part is rank ranks[i] of the whole mesh.
//
//   part_of(whole, ranks, axes)   a part with the given ranks and axes
//   parts_along(whole, axis)      one part for each index of the axis; each part has the other axes
//   divided(whole, axis, parts)   equally large parts, each with a range of the indices of the axis
//
// An axis of a part has the tier intra_node if all ranks that differ only along this axis are in
// one node of the whole mesh. Otherwise it has the tier inter_node.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/mesh/topology.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

/// Returns the number of the node in which a rank is. Nodes are numbered in the order of their
/// lowest ranks.
constexpr int node_of(topology const& whole, int rank) {
  auto const c = whole.coordinates_of(rank);
  int node = 0;
  for (int a = 0; a < whole.axes(); ++a)
    if (whole.axis[a].tier == link_tier::inter_node)
      node = node * whole.extent(a) + c[static_cast<std::size_t>(a)];
  return node;
}

struct mesh_part {
  topology axes;
  std::vector<int> ranks;
  friend constexpr bool operator==(mesh_part const&, mesh_part const&) = default;
};

/// Returns the number that rank `rank` of the whole mesh has within the part, or -1 if the part
/// does not contain this rank.
constexpr int position_in(mesh_part const& part, int rank) {
  auto const found = std::find(part.ranks.begin(), part.ranks.end(), rank);
  return found == part.ranks.end() ? -1 : static_cast<int>(found - part.ranks.begin());
}

/// Returns the part that contains all ranks of a mesh, along the axes of the mesh.
constexpr mesh_part all_of(topology const& whole) {
  mesh_part all{whole, {}};
  for (int r = 0; r < whole.ranks(); ++r) all.ranks.push_back(r);
  return all;
}

/// Returns the part of a mesh with the given ranks, in this order, arranged along `axes`. The tiers
/// in `axes` are ignored: the tiers of the result follow from the whole mesh. Throws ashlar::error
/// if a rank is not in the mesh, if a rank is given twice, or if the number of ranks is not the
/// product of the extents of `axes`.
constexpr mesh_part part_of(topology const& whole, std::span<int const> ranks, topology axes) {
  auto const refuse = [&](std::string const& why) {
    throw error("mesh_part",
                "a part of " + to_string(whole) + " of shape " + to_string(axes) + ": " + why);
  };
  if (static_cast<int>(ranks.size()) != axes.ranks())
    refuse(std::to_string(ranks.size()) + " ranks are given, but the shape holds " +
           std::to_string(axes.ranks()) + ".");
  scratch<bool> given(static_cast<std::size_t>(whole.ranks()));
  for (int const r : ranks) {
    if (r < 0 || r >= whole.ranks())
      refuse("rank " + std::to_string(r) + " is not one of the mesh, which has " +
             std::to_string(whole.ranks()) + ".");
    if (given.data()[r]) refuse("rank " + std::to_string(r) + " is given twice.");
    given.data()[r] = true;
  }
  for (int a = 0; a < axes.axes(); ++a) {
    axes.axis[a].tier = link_tier::intra_node;
    for (int i = 0; i < axes.ranks(); ++i) {
      auto first = axes.coordinates_of(i);
      first[static_cast<std::size_t>(a)] = 0;
      auto const other = ranks[static_cast<std::size_t>(axes.rank_of(first))];
      if (node_of(whole, ranks[static_cast<std::size_t>(i)]) != node_of(whole, other))
        axes.axis[a].tier = link_tier::inter_node;
    }
  }
  return {axes, {ranks.begin(), ranks.end()}};
}

/// Returns the part of the whole mesh that consists of some ranks of the part `of`, arranged along
/// `axes`. `ranks` are rank numbers within `of`. Throws like part_of.
constexpr mesh_part part_within(topology const& whole, mesh_part const& of,
                                std::span<int const> ranks, topology const& axes) {
  (void)part_of(of.axes, ranks, axes);
  std::vector<int> numbers;
  for (int const r : ranks) numbers.push_back(of.ranks[static_cast<std::size_t>(r)]);
  return part_of(whole, numbers, axes);
}

/// Returns the axes of a part and its ranks in the whole mesh, such as "gpu=2:4,5".
inline std::string to_string(mesh_part const& part) {
  auto text = to_string(part.axes);
  for (std::size_t i = 0; i < part.ranks.size(); ++i)
    text.append(i == 0 ? ":" : ",").append(std::to_string(part.ranks[i]));
  return text;
}

/// Divides the indices along axis number `along` into `parts` equal ranges, and returns one part of
/// the mesh for each range. Every part has the axes of the mesh, but a smaller extent along axis
/// `along`. Expects that `parts` divides the extent of this axis.
constexpr std::vector<mesh_part> divided(topology const& whole, int along, int parts) {
  topology axes = whole;
  axes.axis[along].extent /= parts;
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(parts));
  for (int r = 0; r < whole.ranks(); ++r) {
    int const index = whole.coordinates_of(r)[static_cast<std::size_t>(along)];
    ranks[static_cast<std::size_t>(index / axes.extent(along))].push_back(r);
  }
  std::vector<mesh_part> made;
  for (auto const& own : ranks) made.push_back(part_of(whole, own, axes));
  return made;
}

/// Returns one part of a mesh for each index of the axis named `name`. The parts have the other
/// axes of the mesh. If the mesh has no other axis, they have one axis of extent 1. Throws
/// ashlar::error if the mesh has no axis of this name.
constexpr std::vector<mesh_part> parts_along(topology const& whole, std::string_view name) {
  int along = 0;
  while (along < whole.axes() && whole.axis[along].name.view() != name) ++along;
  if (along == whole.axes())
    throw error("mesh_part", to_string(whole) + " has no axis " + std::string(name) + ".");
  topology others;
  for (int a = 0; a < whole.axes(); ++a)
    if (a != along) others.axis.push_back(whole.axis[a]);
  if (others.axes() == 0) others.axis.push_back({"one", 1});
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(whole.extent(along)));
  for (int r = 0; r < whole.ranks(); ++r)
    ranks[static_cast<std::size_t>(whole.coordinates_of(r)[static_cast<std::size_t>(along)])]
        .push_back(r);
  std::vector<mesh_part> parts;
  for (auto const& own : ranks) parts.push_back(part_of(whole, own, others));
  return parts;
}

}  // namespace ashlar
