// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes how a tensor is distributed over a mesh: one axis_placement per mesh axis, in the order
// of the mesh axes.
//
// The axes that split a dim d form an ordered list, outermost first, which is their shard order.
// The depth of each axis is its position in this list. In canonical order, axes are listed in the
// order of the mesh axes. The constructor replaces depths of -1 by the canonical ones. A placement
// is valid (see `check`) if
//
//   - the depths of the k axes that split a dim are 0..k-1, each once
//   - every split dim is less than the tensor's rank
//   - all partial axes have the same reduction, because the order of different reductions matters:
//     a sum of maxima is not the maximum of the sums
//   - a tensor that is owned on an axis has at least one dim, and its owner is below max_owners.
//     Whether the axis has this rank is checked where the mesh is known (`check` in
//     layout/layout.hpp)
//
// A placement contains no extents: layout/ computes which rank owns which index.

#include <initializer_list>

#include <ashlar/placement/axis_placement.hpp>
#include <ashlar/support/inplace_vector.hpp>

namespace ashlar {

inline constexpr int max_axes = 6;  ///< the most axes of a mesh
inline constexpr int max_rank = 5;  ///< the most dims of a tensor

/// A list of mesh axes, each given by its index and at most once.
using axis_list = inplace_vector<signed char, max_axes>;

/// Returns the list 0, 1, …, axes - 1.
constexpr axis_list all_axes(int axes) {
  axis_list list;
  for (int a = 0; a < axes; ++a) list.push_back(static_cast<signed char>(a));
  return list;
}

/// A set of mesh axes as a bit mask: bit a stands for axis a.
using axis_set = unsigned;

constexpr axis_set set_of(axis_list const& axes) {
  axis_set set = 0;
  for (auto const a : axes) set |= 1u << a;
  return set;
}

struct placement {
  inplace_vector<axis_placement, max_axes> axis;

  constexpr placement() = default;
  constexpr placement(std::initializer_list<axis_placement> list) {
    for (auto const& a : list) axis.push_back(a);
    resolve_order();
  }

  static constexpr placement all_broadcast(int axes) {
    placement p;
    p.axis.resize(axes);
    return p;
  }

  constexpr int axes() const { return axis.size(); }
  constexpr axis_placement const& operator[](int a) const { return axis[a]; }

  /// Returns the axes that split `dim`, outermost first.
  constexpr axis_list axes_of(int dim) const {
    axis_list list;
    for (int a = 0; a < axis.size(); ++a)
      if (axis[a].is_split_of(dim)) list.push_back(0);
    for (int a = 0; a < axis.size(); ++a)
      if (axis[a].is_split_of(dim)) list[axis[a].depth] = static_cast<signed char>(a);
    return list;
  }

  constexpr int split_count(int dim) const {
    int n = 0;
    for (int a = 0; a < axis.size(); ++a)
      if (axis[a].is_split_of(dim)) ++n;
    return n;
  }

  constexpr bool has_owned() const {
    for (int a = 0; a < axis.size(); ++a)
      if (axis[a].is_owned()) return true;
    return false;
  }

  constexpr bool has_partial() const {
    for (int a = 0; a < axis.size(); ++a)
      if (axis[a].is_partial()) return true;
    return false;
  }

  /// Returns the reduction of the partial axes, or sum if there are none.
  constexpr reduction op() const {
    for (int a = 0; a < axis.size(); ++a)
      if (axis[a].is_partial()) return axis[a].op;
    return reduction::sum;
  }

  /// Returns this placement with axis `a` splitting `dim`, as the innermost of the axes that split
  /// `dim`. Expects that axis `a` is not a split now.
  constexpr placement with_split(int a, int dim) const {
    placement p = *this;
    p.axis[a] = split(dim, split_count(dim));
    return p;
  }

  /// Returns this placement with `role` on axis `a`. Expects that `role` is not a split. Also
  /// expects that axis `a` is not a split now, or is the innermost axis that splits its dim.
  constexpr placement with(int a, axis_placement role) const {
    placement p = *this;
    p.axis[a] = role;
    return p;
  }

  /// Returns whether all axes that split the same dim nest in the order of the mesh axes.
  constexpr bool is_canonical() const {
    for (int a = 0; a < axis.size(); ++a)
      for (int b = a + 1; b < axis.size(); ++b)
        if (axis[a].is_split() && axis[b].is_split_of(axis[a].dim) && axis[a].depth > axis[b].depth)
          return false;
    return true;
  }

  friend constexpr bool operator==(placement const& a, placement const& b) {
    return a.axis == b.axis;
  }

  /// Replaces every negative depth by the number of earlier mesh axes that split the same dim.
  constexpr void resolve_order() {
    for (int a = 0; a < axis.size(); ++a) {
      if (!axis[a].is_split() || axis[a].depth >= 0) continue;
      int depth = 0;
      for (int b = 0; b < a; ++b)
        if (axis[b].is_split_of(axis[a].dim)) ++depth;
      axis[a].depth = static_cast<signed char>(depth);
    }
  }
};

/// Checks whether `p` is valid for a tensor with `rank` dims on a mesh with `axes` axes. Returns
/// null if it is, otherwise an error message.
constexpr char const* check(placement const& p, int rank, int axes) {
  if (p.axes() != axes)
    return "wrong number of axes. Give one placement per mesh axis, in the mesh's axis order.";
  for (int a = 0; a < axes; ++a) {
    if (!p[a].is_split()) {
      if (p[a].is_partial() && p[a].op != p.op())
        return "two kinds of reduction in one placement. Reduce one of them first.";
      if (p[a].is_owned() && rank == 0)
        return "an owned scalar. Only tensors with dims can be owned.";
      if (p[a].is_owned() && (p[a].owner < 0 || p[a].owner >= max_owners))
        return "an owner out of range. Owners count from 0 along their axis and end at 511.";
      continue;
    }
    if (p[a].dim < 0 || p[a].dim >= rank)
      return "split of a dimension the tensor does not have. Dimensions count from 0 to rank - 1.";
    if (p[a].depth < 0 || p[a].depth >= p.split_count(p[a].dim))
      return "shard depths of a dimension must be 0, 1, ... without gaps, outermost axis first.";
    for (int b = 0; b < a; ++b)
      if (p[b].is_split_of(p[a].dim) && p[b].depth == p[a].depth)
        return "two axes have the same shard depth in one dimension. Number the axes that split it "
               "0, 1, ..., outermost first.";
  }
  return nullptr;
}

}  // namespace ashlar
