// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tables for the seconds of many redistribution steps of one tensor. The price of a step does not
// depend on shard order. If p ranks split a dim of n elements, the largest shard has ceil(n / p)
// elements and the smallest has floor(n / p). This holds for every order of the axes. So the price
// follows from the roles of the mesh axes (B, P, S(0), ...) before and after the step:
//
//   axis_roles                          the set of axes that have each role
//   step_prices(kind, axes, from, to)   equals step_seconds of every step with these roles and
//                                       without a wire

#include <ashlar/placement/placement.hpp>
#include <ashlar/plan/redistribution_step.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

/// The weight of a placement that no path reaches. It exceeds the weight of every path.
inline constexpr double unreachable = 1e300;

/// A placement without its shard order and its owners: for each role (B, P, S(0), ..., owned), the
/// set of mesh axes that have this role.
struct axis_roles {
  static constexpr int broadcast = 0, partial = 1, first_split = 2, owned = first_split + max_rank;
  /// Indexed by role: broadcast, partial, first_split + dim, or owned.
  axis_set having[owned + 1]{};

  constexpr axis_roles() = default;
  constexpr explicit axis_roles(placement const& p) {
    for (int a = 0; a < p.axis.count; ++a) having[role(p.axis.items[a])] |= 1u << a;
  }
  static constexpr int role(axis_placement const& a) {
    return a.kind == placement_kind::broadcast ? broadcast
           : a.kind == placement_kind::partial ? partial
           : a.kind == placement_kind::split   ? first_split + a.dim
                                               : owned;
  }
};

class step_prices {
 public:
  constexpr step_prices(shape const& extents, int element_size, topology const& t, machine const& m)
      : sets_(1 << t.axes()), rank_(extents.rank()), element_size_(element_size),
        chosen_(extents.chosen), fullest_(extents.fullest),
        experts_(extents.is_routed() ? extents.experts() : 1),
        ranks_(static_cast<std::size_t>(sets_)),
        link_(static_cast<std::size_t>(kinds_of_link * sets_)),
        size_(static_cast<std::size_t>(rank_ * sets_)) {
    // On a machine without separate links for collectives, a reduce-scatter and an all-reduce have
    // the link of an all-gather. Then one look-up suffices, which saves steps of constant
    // evaluation.
    bool const same = (m.intra_of.given | m.inter_of.given) == 0;
    for (int set = 0; set < sets_; ++set) {
      axis_list axes;
      for (int a = 0; a < t.axes(); ++a)
        if ((set >> a & 1) != 0) axes.push_back(static_cast<signed char>(a));
      std::int64_t const p = ranks_.data()[set] = t.group_size(axes);
      for (int d = 0; d < rank_; ++d) {
        std::int64_t const n = extents.extent.items[d];
        size_.data()[d * sets_ + set] = {n / p + (n % p != 0), n / p};
      }
      if (p == 1) continue;
      link* const l = link_.data() + kinds_of_link * set;
      l[gather] = group_link(m, t, axes, collective::all_gather);
      l[scattered] = group_link(m, t, axes, collective::all_to_all);
      l[pairs] = axes.size() == 2 && is_pairwise(axes, t)
                     ? group_link(m, t, axes, collective::permute)
                     : link{};
      l[scatter] = same ? l[gather] : group_link(m, t, axes, collective::reduce_scatter);
      l[reduce] = same ? l[gather] : group_link(m, t, axes, collective::all_reduce);
    }
  }

  /// Returns the seconds of a step. For a permute, `pairwise` must be true if the permute exchanges
  /// data between pairs of ranks (is_pairwise). For other kinds, `pairwise` is ignored.
  constexpr double operator()(collective kind, axis_set axes, axis_roles const& from,
                              axis_roles const& to, bool pairwise = false) const {
    if (!communicates(kind) || ranks_.data()[axes] == 1) return 0;
    shard_elements before{1, 1}, after{1, 1};
    std::int64_t kept = 1;
    shard_elements const* size = size_.data();
    for (int d = 0; d < rank_; ++d, size += sets_) {
      int const role = axis_roles::first_split + d;
      shard_elements const &x = size[from.having[role]], &y = size[to.having[role]];
      before.largest *= x.largest, before.least *= x.least;
      after.largest *= y.largest, after.least *= y.least;
      kept *= x.least < y.least ? x.least : y.least;
    }
    if (chosen_ != 0) {  // counts the elements of a routed tensor as box::elements does
      before.largest = fullest(before.largest, from);
      after.largest = fullest(after.largest, to);
      for (auto* n : {&before.least, &after.least, &kept}) *n = *n * chosen_ / experts_;
    }
    int const l = kind != collective::permute ? static_cast<int>(kind)
                  : pairwise                  ? pairs
                                              : scattered;
    axis_set const before_owned = from.having[axis_roles::owned] & axes;
    axis_set const after_owned = to.having[axis_roles::owned] & axes;
    if ((before_owned | after_owned) != 0)
      return seconds(link_.data()[kinds_of_link * static_cast<int>(axes) + l],
                     owner_traffic(kind, static_cast<int>(ranks_.data()[axes]),
                                   before_owned == after_owned, before, after),
                     element_size_);
    return seconds(link_.data()[kinds_of_link * static_cast<int>(axes) + l],
                   priced_traffic(kind, static_cast<int>(ranks_.data()[axes]), pairwise, before,
                                  after, kept, fullest_ != evenly_full),
                   element_size_);
  }

 private:
  /// Returns the number of elements that prices count for the largest shard of a routed tensor
  /// (layout/shape.hpp), which stores only the rows of chosen experts. With all rows, this shard
  /// would have n elements.
  constexpr std::int64_t fullest(std::int64_t n, axis_roles const& at) const {
    int const d = rank_ - 2;
    auto const own =
        size_.data()[d * sets_ + static_cast<int>(at.having[axis_roles::first_split + d])];
    return routed_elements(n, chosen_, fullest_, own.largest, experts_);
  }

  /// Kinds of links, in the order of the enum `collective`.
  enum link_kind { gather, scatter, reduce, scattered, pairs, kinds_of_link };
  static_assert(static_cast<int>(collective::all_to_all) == scattered &&
                static_cast<int>(collective::permute) == pairs);

  int sets_;
  int rank_;
  int element_size_;
  int chosen_;  // the experts per token of a routed tensor; 0 for other tensors
  int fullest_;
  std::int64_t experts_;
  scratch<std::int64_t> ranks_;   // by set of axes: the number of ranks in a group
  scratch<link> link_;            // by set of axes and kind of link: the link of a group
  scratch<shard_elements> size_;  // by dim and set of axes that split it: the extents of parts
};

}  // namespace ashlar
