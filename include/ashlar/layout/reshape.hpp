// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// When a reshape moves nothing. It keeps the row-major order, so element k before is element k
// after. It is local if the box of every rank holds the same flat indices before and after.
//
//   reshapes_locally(extents, p, new_extents, q, t)   exactly that
//   reshape_placement(extents, new_extents, t, p)     a q for which it holds, none if none does
//
// Why there is one q to look at, for a tensor that has elements. Follow the rank at coordinate 1
// along one split axis and 0 along the others:
//
//   it has elements    its first flat index f is known, and the dim that q must split is the one
//                      with stride <= f < stride · extent: the axis is live
//   it has none        the axis is idle: its coordinate 0 holds all that is left of the dim, and so
//                      it must in q: innermost on any dim of which coordinate 0 is left one index
//   extent 1           as if live; any dim would do
//
// Live axes keep their order, since f falls from outer to inner. Partial and broadcast axes stay
// as they are. It does not look for a redistribution that would help: plan/nearest.hpp does.

#include <optional>

#include <ashlar/layout/layout.hpp>

namespace ashlar {
namespace detail {

/// The flat indices of a box, in lowest terms: dims of one index vanish and dims that continue one
/// another merge, so two boxes hold the same indices if and only if these are equal.
struct flat_indices {
  struct digit {
    std::int64_t size = 0;
    std::int64_t stride = 0;
    friend constexpr bool operator==(digit const&, digit const&) = default;
  };
  std::int64_t first = -1;                 // of none
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

/// Row-major strides; a dim of no index counts as one, so that those of empty tensors tell dims
/// apart.
constexpr shape strides_of(shape const& extents) {
  shape s = extents;
  std::int64_t stride = 1;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    s[d] = stride;
    stride *= extents[d] > 0 ? extents[d] : 1;
  }
  return s;
}

/// The dim with stride <= flat < stride · extent; -1 if there is none.
constexpr int dim_that_counts(std::int64_t flat, shape const& extents, shape const& strides) {
  for (int d = 0; d < extents.rank(); ++d)
    if (strides[d] <= flat && flat < strides[d] * extents[d]) return d;
  return -1;
}

/// Where an axis that divides nothing goes: to a dim of which coordinate 0 is left at most one
/// index (`any`: to any dim), best to one of this stride and of one index. -1 if there is none.
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

/// `a` and the axes that split a dim with it, in p or in q, or with one that does.
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

/// Whether p's partial axes are q's, with the same reduction: a reshape cannot complete a sum.
constexpr bool same_partials(placement const& p, placement const& q) {
  if (p.axes() != q.axes()) return false;
  for (int a = 0; a < p.axes(); ++a)
    if ((p[a].is_partial() || q[a].is_partial()) && !same_role(p[a], q[a])) return false;
  return true;
}

/// Whether every rank holds the same elements in the same order as a part of `extents` placed by p
/// and of `new_extents` placed by q. Expects placements that `check` accepts.
///
/// It looks at one group of linked axes at a time, the others at coordinate 0. That is exact: the
/// indices of a box are the sums of one index per dim, so as a polynomial (the sum of x^index) it
/// is a product with a factor per group, and equal products of non-zero factors may be divided.
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

/// How `extents` placed by p lies after a reshape that moves nothing; none if data would have to
/// move or the numbers of elements differ. Expects a placement that `check` accepts.
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

/// Where the splits go when dim `dim` becomes `parts` dims: to the first of them, and later dims
/// move up. Says nothing about extents: reshapes_locally does.
constexpr placement split_axis_placement(placement p, int dim, int parts) {
  for (auto& a : p.axis)
    if (a.is_split() && a.dim > dim) a.dim = static_cast<signed char>(a.dim + parts - 1);
  return p;
}

/// Where the splits go when `count` dims from `first` on become one: to that one, the axes of an
/// earlier dim outside those of a later one. Says nothing about extents: reshapes_locally does.
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
