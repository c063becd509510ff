// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides when a reshape needs no communication. A reshape preserves the row-major order of the
// elements: the element at flat index k stays at flat index k. It is local if every rank's box
// holds the same flat indices before and after.
//
//   reshapes_locally(extents, p, new_extents, q, t)   whether the reshape from p to q is local
//   reshape_placement(extents, new_extents, t, p)     a q for which it is local, or nothing
//
// For a tensor that has elements there is only one candidate q. To find it, take each split axis of
// p and look at the rank at coordinate 1 along that axis and 0 along all others:
//
//   it has elements    Let f be its first flat index. This axis must split the dim of the new shape
//                      with stride <= f < stride · extent. Such an axis is called live.
//   it has none        Coordinate 0 holds all that is left of the dim, and must do so in q too. So
//                      the axis becomes the innermost one of a dim of which coordinate 0 has only
//                      one index left. Such an axis is called idle.
//   extent 1           Any dim would be correct. The axis is treated like a live one.
//
// Live axes keep their order, since f decreases from outer to inner axes. Partial and broadcast
// axes stay unchanged. This file does not search for a redistribution that would make the reshape
// local; plan/nearest.hpp does.

#include <optional>

#include <ashlar/layout/layout.hpp>

namespace ashlar {
namespace detail {

/// The set of flat indices of a box, in normal form: dims of size 1 are dropped, and adjacent dims
/// that form one regular range are merged. So two boxes hold the same flat indices if and only if
/// their normal forms are equal.
struct flat_indices {
  struct digit {
    std::int64_t size = 0;
    std::int64_t stride = 0;
    friend constexpr bool operator==(digit const&, digit const&) = default;
  };
  std::int64_t first = -1;                 // -1: the box is empty
  inplace_vector<digit, max_rank> digits;  // innermost first

  constexpr flat_indices(shape const& extents, box const& b) {
    if (b.elements() == 0) return;
    first = 0;
    std::int64_t stride = 1;
    for (int d = b.rank() - 1; d >= 0; --d) {
      first += b[d].begin * stride;
      if (b[d].size > 1) {
        if (!digits.empty() && digits.back().size * digits.back().stride == stride)
          digits.back().size *= b[d].size;
        else digits.push_back({b[d].size, stride});
      }
      stride *= extents[d];
    }
  }
  friend constexpr bool operator==(flat_indices const&, flat_indices const&) = default;
};

/// Returns the row-major strides. An extent of 0 counts as 1, so that the dims of an empty tensor
/// still have distinct strides.
constexpr shape strides_of(shape const& extents) {
  shape s = extents;
  std::int64_t stride = 1;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    s[d] = stride;
    stride *= extents[d] > 0 ? extents[d] : 1;
  }
  return s;
}

/// Returns the dim with stride <= flat < stride · extent, or -1 if there is none.
constexpr int dim_that_counts(std::int64_t flat, shape const& extents, shape const& strides) {
  for (int d = 0; d < extents.rank(); ++d)
    if (strides[d] <= flat && flat < strides[d] * extents[d]) return d;
  return -1;
}

/// Returns the dim that an idle axis splits after the reshape, or -1 if there is none. It must be a
/// dim of which coordinate 0 has at most one index left, unless `any` permits every dim. A dim with
/// the given stride is preferred, most of all one that also has at most one index.
constexpr int dim_for_idle(std::int64_t stride, bool any, shape const& extents,
                           shape const& strides, box const& left) {
  int best = -1, best_score = -1;
  for (int d = 0; d < extents.rank(); ++d) {
    if (!any && left[d].size > 1) continue;
    int const score = (strides[d] == stride ? 2 : 0) +
                      (strides[d] == stride && extents[d] <= 1 ? 1 : 0);
    if (score > best_score) best = d, best_score = score;
  }
  return best;
}

/// Returns `a` and all axes that are linked to it, directly or through other axes. Two axes are
/// linked if they split the same dim in p or in q.
constexpr axis_list linked_axes(placement const& p, placement const& q, int a) {
  axis_list group{static_cast<signed char>(a)};
  for (int i = 0; i < group.size(); ++i)
    for (int b = 0; b < p.axes(); ++b)
      for (placement const* role : {&p, &q})
        if ((*role)[group[i]].is_split() && (*role)[b].is_split_of((*role)[group[i]].dim) &&
            !group.contains(static_cast<signed char>(b)))
          group.push_back(static_cast<signed char>(b));
  return group;
}

}  // namespace detail

/// Returns whether p and q have the same partial axes with the same reductions. A reshape cannot
/// complete a pending reduction, so this is necessary.
constexpr bool same_partials(placement const& p, placement const& q) {
  if (p.axes() != q.axes()) return false;
  for (int a = 0; a < p.axes(); ++a)
    if ((p[a].is_partial() || q[a].is_partial()) && !same_role(p[a], q[a])) return false;
  return true;
}

/// Returns whether every rank holds the same elements in the same order, once as part of a tensor
/// of shape `extents` placed by p, and once as part of one of shape `new_extents` placed by q.
/// Expects placements that `check` accepts.
///
/// It compares one group of linked axes at a time, with all other axes at coordinate 0. That
/// suffices: each flat index of a box is a sum of one term per dim. So the polynomial sum of
/// x^index over the box is a product with one factor per group, and a non-zero factor can be
/// cancelled from both sides of an equality.
constexpr bool reshapes_locally(shape const& extents, placement const& p, shape const& new_extents,
                                placement const& q, topology const& t) {
  if (extents.elements() != new_extents.elements() || !same_partials(p, q)) return false;
  if (extents.elements() == 0) return true;
  axis_list seen;
  for (int a = 0; a < p.axes(); ++a) {
    if (seen.contains(static_cast<signed char>(a)) || !(p[a].is_split() || q[a].is_split()))
      continue;
    axis_list const group = detail::linked_axes(p, q, a);
    for (auto const member : group) seen.push_back(member);
    for (int i = t.group_size(group) - 1; i >= 0; --i) {
      coordinates const c = t.member({}, group, i);
      if (!(detail::flat_indices(extents, local_box(extents, t, p, c)) ==
            detail::flat_indices(new_extents, local_box(new_extents, t, q, c))))
        return false;
    }
  }
  return true;
}

/// Returns the placement that a tensor of shape `extents`, placed by p, has after a local reshape
/// to `new_extents`. Returns nothing if data would have to move, or if the numbers of elements
/// differ. Expects a placement that `check` accepts.
constexpr std::optional<placement> reshape_placement(shape const& extents, shape const& new_extents,
                                                     topology const& t, placement const& p) {
  if (extents == new_extents) return p;
  if (extents.elements() != new_extents.elements()) return std::nullopt;
  bool const is_empty = extents.elements() == 0;
  shape const strides = detail::strides_of(extents), new_strides = detail::strides_of(new_extents);
  placement q = p;
  for (auto& a : q.axis)
    if (a.is_split()) a = broadcast();

  struct idle_axis {
    int axis = 0;
    std::int64_t stride = 0;
  };
  inplace_vector<idle_axis, max_axes> idle;
  for (int d = 0; d < extents.rank(); ++d) {
    std::int64_t left = extents[d];
    for (int const a : p.axes_of(d)) {
      std::int64_t const part = balanced_part({0, left}, t.extent(a), 0).size;
      std::int64_t const first = t.extent(a) == 1 ? left - 1 : part;
      int const dim = left > 1
                          ? detail::dim_that_counts(first * strides[d], new_extents, new_strides)
                          : -1;
      if (dim >= 0) q = q.with_split(a, dim);
      else idle.push_back({a, strides[d]});
      left = part;
    }
  }
  box const left = local_box(new_extents, t, q, {});
  for (auto const& i : idle) {
    bool const any = is_empty || t.extent(i.axis) == 1;
    int const dim = detail::dim_for_idle(i.stride, any, new_extents, new_strides, left);
    if (dim >= 0) q = q.with_split(i.axis, dim);
    else if (!any) return std::nullopt;
  }
  if (!reshapes_locally(extents, p, new_extents, q, t)) return std::nullopt;
  return q;
}

/// Returns the placement after dim `dim` is divided into `parts` dims: its splits go to the first
/// of these, and the numbers of later dims increase. Does not consider extents; reshapes_locally
/// does.
constexpr placement split_axis_placement(placement p, int dim, int parts) {
  for (auto& a : p.axis)
    if (a.is_split() && a.dim > dim) a.dim = static_cast<signed char>(a.dim + parts - 1);
  return p;
}

/// Returns the placement after `count` dims, starting at `first`, are merged into one: their splits
/// go to the merged dim, and the axes of an earlier dim become outer to those of a later dim. Does
/// not consider extents; reshapes_locally does.
constexpr placement merge_axes_placement(placement const& p, int first, int count) {
  placement q = p;
  for (int a = 0; a < p.axes(); ++a) {
    if (!p[a].is_split() || p[a].dim < first) continue;
    if (p[a].dim >= first + count) {
      q.axis[a].dim = static_cast<signed char>(p[a].dim - count + 1);
      continue;
    }
    int depth = p[a].depth;
    for (int d = first; d < p[a].dim; ++d) depth += p.split_count(d);
    q.axis[a] = split(first, depth);
  }
  return q;
}

}  // namespace ashlar
