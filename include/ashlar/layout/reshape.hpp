// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides when a reshape needs no communication, and finds the placement of its result. A reshape
// preserves the row-major order of the elements: the element at flat index k stays at flat index k.
// So a reshape is local if every rank's box holds the same flat indices before and after.
//
//   reshapes_locally(extents, p, new_extents, q, t)   whether the reshape from p to q is local
//   reshape_placement(extents, new_extents, t, p)     a q that makes the reshape local, or nothing
//
// If the tensor has elements, only one candidate for q must be checked. It is found axis by axis.
// For an axis that splits a dim in p, consider the rank at coordinate 1 along this axis and at
// coordinate 0 along all other axes:
//
//   the rank has elements   The axis is called live. Let f be the rank's first flat index. In q,
//                           the axis splits the dim of the new shape with stride <= f < stride ·
//                           extent. For example, 8x6 with [S(0)] on 2 ranks has f = 24. A reshape
//                           to 4x2x6 with strides 12, 6 and 1 has [S(0)], since 12 <= 24 < 48.
//   the rank has none       The axis is called idle. The axes outside of it have already cut the
//                           dim down to at most one index, which the rank at coordinate 0 holds.
//                           The same must be true in q. So in q the axis becomes the innermost
//                           axis of a dim of which the rank at coordinate 0 has at most one index.
//   the axis has extent 1   No rank has coordinate 1, so any dim would be correct. The axis is
//                           treated like a live one if its dim still has more than one index, and
//                           otherwise like an idle one.
//
// Live axes keep their order, since f decreases from outer to inner axes. Partial and broadcast
// axes stay unchanged. If no q makes the reshape from p local, plan/nearest.hpp searches for a
// placement of the operand that can be reshaped locally.

#include <optional>

#include <ashlar/layout/layout.hpp>

namespace ashlar {
namespace detail {

/// The set of flat (row-major) indices of a box, in a normal form. Dims of size 1 are dropped, and
/// adjacent dims are merged if their flat indices together have one constant stride. So two boxes
/// hold the same flat indices if and only if their normal forms are equal.
struct flat_indices {
  struct digit {
    std::int64_t size = 0;
    std::int64_t stride = 0;
    friend constexpr bool operator==(digit const&, digit const&) = default;
  };
  std::int64_t first = -1;                 // the first flat index; -1 if the box is empty
  inplace_vector<digit, max_rank> digits;  // one for each remaining dim, innermost first

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

/// Returns the row-major strides of a tensor with these extents. An extent of 0 counts as 1, so
/// that the strides are not 0.
constexpr shape strides_of(shape const& extents) {
  shape s = extents;
  std::int64_t stride = 1;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    s[d] = stride;
    stride *= extents[d] > 0 ? extents[d] : 1;
  }
  return s;
}

/// Returns the dim with stride <= flat < stride · extent, or -1 if there is none. This is the
/// outermost dim in which the index of the element at flat index `flat` is not 0.
constexpr int dim_that_counts(std::int64_t flat, shape const& extents, shape const& strides) {
  for (int d = 0; d < extents.rank(); ++d)
    if (strides[d] <= flat && flat < strides[d] * extents[d]) return d;
  return -1;
}

/// Returns the dim of the new shape that an idle axis splits, or -1 if there is none. An axis is
/// idle if ranks at coordinates above 0 along this axis hold no elements. The parameters are:
///
/// - `stride`: the stride of the dim that the axis splits in the old shape. A dim of the new shape
///   with the same stride is preferred, most of all if its global extent is at most 1.
/// - `any`: If false, only dims with at most one index in `left` are permitted.
/// - `left`: the box of the rank at coordinates 0 after all live axes have split the new shape.
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

/// Returns a list of axis `a` and all axes that are linked to `a`, directly or through other axes.
/// Two axes are linked if they split the same dim in p or in q.
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

/// Returns whether p and q have the same partial axes with the same reductions. If not, a reshape
/// from p to q needs communication, since only communication can add up addends.
constexpr bool same_partials(placement const& p, placement const& q) {
  if (p.axes() != q.axes()) return false;
  for (int a = 0; a < p.axes(); ++a)
    if ((p[a].is_partial() || q[a].is_partial()) && !same_role(p[a], q[a])) return false;
  return true;
}

/// Returns whether the reshape from `extents`, placed by p, to `new_extents`, placed by q, needs no
/// communication: every rank holds the same elements in the same order before and after. Expects
/// valid placements.
///
/// The function compares the boxes before and after the reshape for one group of linked axes at a
/// time (linked_axes), with all other axes at coordinate 0. This is sufficient, for the following
/// reason. Describe a box by the polynomial Σ x^index, summed over its flat (row-major) indices.
/// Two boxes hold the same flat indices if and only if their polynomials are equal. A flat index is
/// a sum of one term per dim, so a polynomial is a product of one factor per group and a constant
/// factor. Let A(c) and B(c) be the polynomials of the rank at coordinates c, before and after the
/// reshape. Let c_g be c with 0 along all axes outside of group g. The comparisons show A(c_g) =
/// B(c_g) for each of the n groups. The product of these n equations is A(c) A(0)^(n-1) = B(c)
/// B(0)^(n-1). A(0) = B(0) is not zero, because the rank at coordinates 0 has the largest box. So
/// A(c) = B(c).
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

/// Returns the placement that a tensor with `extents`, placed by p, has after a reshape to
/// `new_extents` without communication. Returns an empty optional if data would have to move, or if
/// the numbers of elements differ. Expects a valid placement.
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

/// Returns the placement after dim `dim` is divided into `parts` dims. Axes that split `dim` then
/// split the first of these new dims. Later dims are renumbered. reshapes_locally decides from the
/// extents whether this division is possible without communication.
constexpr placement split_axis_placement(placement p, int dim, int parts) {
  for (auto& a : p.axis)
    if (a.is_split() && a.dim > dim) a.dim = static_cast<signed char>(a.dim + parts - 1);
  return p;
}

/// Returns the placement after `count` dims from `first` on are merged into one. Axes that split
/// one of these dims then split the merged dim. Of two such axes, the one that has split the
/// earlier dim becomes the outer one. reshapes_locally decides from the extents whether the merge
/// is possible without communication.
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
