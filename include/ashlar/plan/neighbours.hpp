// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Every step that the algebra allows from one placement: the edges of the graph in which a
// redistribution is a shortest path. Rules (notes in plan/redistribution_step.hpp on what each step means):
//
//   * only the innermost axes of a dim can be gathered, exchanged away or padded;
//   * an axis that starts to split a dim enters it innermost;
//   * a fused step takes a run of innermost axes, or any ordered choice of P axes, at once;
//   * axes of extent 1 take part like any other: their steps are free.

#include <ashlar/plan/redistribution_step.hpp>

namespace ashlar {
namespace detail {

/// Ordered choices of P axes: visit(list) for each nonempty one.
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

/// Calls visit(step) for every step from `p`. `pad` is the reduction that zero_pad creates where
/// `p` has no partial axis yet. `rank`: dimensions of the tensor.
template <class Visit>
constexpr void for_each_step(placement const& p, int rank, topology const& t, reduction pad,
                             Visit visit) {
  auto emit = [&](collective kind, axis_list const& axes, placement const& to) {
    visit(redistribution_step{kind, axes, p, to});
  };
  reduction const op = p.has_partial() ? p.op() : pad;
  auto const are_innermost = [&](int a, int b) {  // of two dims
    auto const last = [&](int axis) {
      axis_list const owners = p.axes_of(p[axis].dim);
      return owners[owners.size() - 1] == axis;
    };
    return p[a].is_split() && p[b].is_split() && p[a].dim != p[b].dim && last(a) && last(b);
  };

  for (int d = 0; d < rank; ++d) {
    axis_list const owners = p.axes_of(d);
    for (int run = 1; run <= owners.size(); ++run) {  // the innermost `run` axes of d
      axis_list axes;
      for (int i = owners.size() - run; i < owners.size(); ++i) axes.push_back(owners[i]);
      placement gathered = p;
      for (int i = 0; i < run; ++i) gathered.axis[axes[i]] = broadcast();
      emit(collective::all_gather, axes, gathered);
      for (int e = 0; e < rank; ++e) {
        if (e == d) continue;
        placement exchanged = gathered;
        for (int i = 0; i < run; ++i) exchanged = exchanged.with_split(axes[i], e);
        emit(collective::all_to_all, axes, exchanged);
      }
      if (run == 1) emit(collective::zero_pad, axes, p.with(axes[0], partial(op)));
    }
    // The two innermost axes of d change their order. Further out it would take more ranks than the
    // two axes span: nested balanced splits move the cuts of every axis inside.
    if (int const i = owners.size() - 2; i >= 0 && t.extent(owners[i]) != t.extent(owners[i + 1])) {
      int const a = owners[i], b = owners[i + 1];
      placement swapped = p;
      swapped.axis[a].depth = p[b].depth;
      swapped.axis[b].depth = p[a].depth;
      emit(collective::permute, {static_cast<signed char>(a), static_cast<signed char>(b)},
           swapped);
    }
  }

  for (int a = 0; a < p.axes(); ++a) {
    auto const axis = static_cast<signed char>(a);
    if (p[a].is_broadcast()) {
      for (int d = 0; d < rank; ++d) emit(collective::slice, {axis}, p.with_split(a, d));
      emit(collective::zero_pad, {axis}, p.with(a, partial(op)));
    }
    for (int b = a + 1; b < p.axes(); ++b) {
      if (p[a] == p[b] || !exchange_roles(t, a, b, are_innermost(a, b))) continue;
      placement swapped = p;
      swapped.axis[a] = p[b];
      swapped.axis[b] = p[a];
      emit(collective::permute, {axis, static_cast<signed char>(b)}, swapped);
    }
  }

  axis_list chosen;
  auto reduce = [&](axis_list const& axes) {
    placement reduced = p;
    for (int i = 0; i < axes.size(); ++i) reduced.axis[axes[i]] = broadcast();
    if (detail::is_ascending(axes)) emit(collective::all_reduce, axes, reduced);
    for (int d = 0; d < rank; ++d) {
      placement scattered = reduced;
      for (int i = 0; i < axes.size(); ++i) scattered = scattered.with_split(axes[i], d);
      emit(collective::reduce_scatter, axes, scattered);
    }
  };
  detail::for_each_partial_choice(p, chosen, reduce);
}

}  // namespace ashlar
