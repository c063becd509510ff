// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes the shape of a mesh as a value: its named axes, without any processes. Ranks are
// numbered in row-major order: the last axis varies fastest. A group is a set of ranks that differ
// only along an ordered list of axes. The members of a group are numbered in the order of the list:
// its first axis varies slowest. If exactly these axes split a dim of a tensor, with the first one
// outermost, member i of the group has shard i of this dim.

#include <array>
#include <stdexcept>

#include <ashlar/mesh/axis.hpp>
#include <ashlar/placement/placement.hpp>

namespace ashlar {

/// The coordinates of a rank on the mesh, one per axis.
using coordinates = std::array<int, max_axes>;

/// The largest number of ranks of a mesh.
inline constexpr int max_ranks = 1 << 30;

struct topology {
  inplace_vector<mesh_axis, max_axes> axis;

  constexpr topology() = default;
  constexpr topology(std::initializer_list<mesh_axis> list) {
    for (auto const& a : list) {
      if (a.extent < 1)
        throw std::invalid_argument("topology: the extent of a mesh axis must be 1 or more");
      for (auto const& b : axis)
        if (a.name == b.name)
          throw std::invalid_argument("topology: two mesh axes have the same name");
      if (a.extent > max_ranks / ranks()) throw std::invalid_argument("topology: too many ranks");
      axis.push_back(a);
    }
  }

  constexpr int axes() const { return axis.size(); }
  constexpr int extent(int a) const { return axis[a].extent; }

  constexpr int ranks() const {
    int n = 1;
    for (int a = 0; a < axis.size(); ++a) n *= axis[a].extent;
    return n;
  }

  /// Returns the number of ranks in one node: the product of the extents of the axes inside a node.
  constexpr int ranks_per_node() const {
    int n = 1;
    for (int a = 0; a < axis.size(); ++a)
      if (axis[a].tier == link_tier::intra_node) n *= axis[a].extent;
    return n;
  }

  constexpr coordinates coordinates_of(int rank) const {
    coordinates c{};
    for (int a = axis.size() - 1; a >= 0; --a) {
      c[static_cast<std::size_t>(a)] = rank % axis[a].extent;
      rank /= axis[a].extent;
    }
    return c;
  }

  constexpr int rank_of(coordinates const& c) const {
    int rank = 0;
    for (int a = 0; a < axis.size(); ++a)
      rank = rank * axis[a].extent + c[static_cast<std::size_t>(a)];
    return rank;
  }

  /// Returns the number of ranks in a group along the axes of `list`.
  constexpr int group_size(axis_list const& list) const {
    int n = 1;
    for (int i = 0; i < list.size(); ++i) n *= axis[list[i]].extent;
    return n;
  }

  /// Returns the index of the rank at coordinates `c` within its group along the axes of `list`.
  constexpr int index_in_group(coordinates const& c, axis_list const& list) const {
    int index = 0;
    for (int i = 0; i < list.size(); ++i)
      index = index * axis[list[i]].extent + c[static_cast<std::size_t>(list[i])];
    return index;
  }

  /// Returns the coordinates of member `index` of a group. The group is along the axes of `list`
  /// and contains the rank at coordinates `c`.
  constexpr coordinates member(coordinates c, axis_list const& list, int index) const {
    for (int i = list.size() - 1; i >= 0; --i) {
      c[static_cast<std::size_t>(list[i])] = index % axis[list[i]].extent;
      index /= axis[list[i]].extent;
    }
    return c;
  }

  friend constexpr bool operator==(topology const&, topology const&) = default;
};

}  // namespace ashlar
