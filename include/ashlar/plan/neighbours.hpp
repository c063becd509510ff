// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Enumerates every redistribution step that is allowed from one placement.
// plan/redistribution_step.hpp defines the steps. A redistribution is a shortest path in the graph
// that these steps form. In the rules, "an axis of a dim" is a mesh axis that splits the dim:
//
//   * Only the innermost axes of a dim can become B, become axes of another dim, or become P. The
//     exception is a permute: two axes of equal extent can exchange their roles at any depth.
//   * An axis that starts to split a dim becomes the innermost axis of that dim.
//   * One step may handle several axes: innermost axes of a dim, or P axes in any order.
//   * Axes of extent 1 follow the same rules; their steps cost nothing.
//   * A step makes an axis owned only by the rank that owns it in the target placement of the
//     redistribution. So the number of placements does not grow with the number of ranks.

#include <ashlar/plan/redistribution_step.hpp>

namespace ashlar {
namespace detail {

/// Calls visit(list) for each ordered list of one or more partial axes of p. `chosen` is the list
/// so far, which is empty in the first call.
template <class Visit>
constexpr void for_each_partial_choice(placement const& p, axis_list& chosen, Visit& visit) {
  for (int a = 0; a < p.axes(); ++a) {
    auto const axis = static_cast<signed char>(a);
    if (!p[a].is_partial() || chosen.contains(axis)) continue;
    chosen.push_back(axis);
    visit(chosen);
    for_each_partial_choice(p, chosen, visit);
    chosen.pop_back();
  }
}

constexpr bool is_ascending(axis_list const& list) {
  for (int i = 1; i < list.size(); ++i)
    if (list[i] < list[i - 1]) return false;
  return true;
}

}  // namespace detail

/// Calls visit(step) for every step from placement `p`. `rank` is the number of dims of the tensor.
/// If `p` has no partial axis, `pad` is the reduction of the partial axes that a zero_pad creates.
/// Steps also make those axes owned that are owned in `target`, each by the rank that owns it
/// there. `target` is empty if no axis shall become owned.
template <class Visit>
constexpr void for_each_step(placement const& p, int rank, topology const& t, reduction pad,
                             Visit visit, placement const& target = {}) {
  auto visit_step = [&](collective kind, axis_list const& axes, placement const& to) {
    visit(redistribution_step{kind, axes, p, to});
  };
  reduction const op = p.has_partial() ? p.op() : pad;
  // Returns whether a and b are the innermost axes of two different dims.
  auto const are_innermost = [&](int a, int b) {
    auto const last = [&](int axis) {
      axis_list const splitting = p.axes_of(p[axis].dim);
      return splitting[splitting.size() - 1] == axis;
    };
    return p[a].is_split() && p[b].is_split() && p[a].dim != p[b].dim && last(a) && last(b);
  };

  for (int d = 0; d < rank; ++d) {
    axis_list const splitting = p.axes_of(d);
    for (int run = 1; run <= splitting.size(); ++run) {  // the innermost `run` axes of d
      axis_list axes;
      for (int i = splitting.size() - run; i < splitting.size(); ++i) axes.push_back(splitting[i]);
      placement gathered = p;
      for (int i = 0; i < run; ++i) gathered.axis[axes[i]] = broadcast();
      visit_step(collective::all_gather, axes, gathered);
      for (int e = 0; e < rank; ++e) {
        if (e == d) continue;
        placement exchanged = gathered;
        for (int i = 0; i < run; ++i) exchanged = exchanged.with_split(axes[i], e);
        visit_step(collective::all_to_all, axes, exchanged);
      }
      if (run == 1) visit_step(collective::zero_pad, axes, p.with(axes[0], partial(op)));
    }
    // The two innermost axes of d exchange their order if their extents differ. Axes of equal
    // extent do so in the loop below, at any depth. Other axes of different extents cannot do so in
    // one step. Such a step would also move the boundaries between the shards of the axes inside
    // the pair, so that ranks outside the group of the two axes would need data too.
    if (int const i = splitting.size() - 2;
        i >= 0 && t.extent(splitting[i]) != t.extent(splitting[i + 1])) {
      int const a = splitting[i], b = splitting[i + 1];
      placement swapped = p;
      swapped.axis[a].depth = p[b].depth;
      swapped.axis[b].depth = p[a].depth;
      visit_step(collective::permute, {static_cast<signed char>(a), static_cast<signed char>(b)},
                 swapped);
    }
  }

  for (int a = 0; a < p.axes(); ++a) {
    auto const axis = static_cast<signed char>(a);
    if (p[a].is_broadcast()) {
      for (int d = 0; d < rank; ++d) visit_step(collective::slice, {axis}, p.with_split(a, d));
      visit_step(collective::zero_pad, {axis}, p.with(a, partial(op)));
    }
    for (int b = a + 1; b < p.axes(); ++b) {
      if (p[a] == p[b] || p[a].is_owned() || p[b].is_owned() ||
          !exchange_roles(t, a, b, are_innermost(a, b)))
        continue;
      placement swapped = p;
      swapped.axis[a] = p[b];
      swapped.axis[b] = p[a];
      visit_step(collective::permute, {axis, static_cast<signed char>(b)}, swapped);
    }
  }

  for (int a = 0; a < p.axes(); ++a) {
    auto const axis = static_cast<signed char>(a);
    if (p[a].is_owned()) {
      visit_step(collective::all_gather, {axis}, p.with(a, broadcast()));
      for (int d = 0; d < rank; ++d) visit_step(collective::all_to_all, {axis}, p.with_split(a, d));
      visit_step(collective::zero_pad, {axis}, p.with(a, partial(op)));
    }
    if (target.axes() == 0 || !target[a].is_owned() || p[a] == target[a]) continue;
    bool const innermost = p[a].is_split() && p[a].depth == p.split_count(p[a].dim) - 1;
    if (p[a].is_split() && !innermost) continue;
    visit_step(p[a].is_partial()     ? collective::reduce_scatter
               : p[a].is_broadcast() ? collective::slice
                                     : collective::all_to_all,
               {axis}, p.with(a, target[a]));
  }

  axis_list chosen;
  auto reduce = [&](axis_list const& axes) {
    placement reduced = p;
    for (int i = 0; i < axes.size(); ++i) reduced.axis[axes[i]] = broadcast();
    if (detail::is_ascending(axes)) visit_step(collective::all_reduce, axes, reduced);
    for (int d = 0; d < rank; ++d) {
      placement scattered = reduced;
      for (int i = 0; i < axes.size(); ++i) scattered = scattered.with_split(axes[i], d);
      visit_step(collective::reduce_scatter, axes, scattered);
    }
  };
  detail::for_each_partial_choice(p, chosen, reduce);
}

}  // namespace ashlar
