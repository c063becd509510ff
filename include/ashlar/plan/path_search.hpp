// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds a cheapest sequence of redistribution steps from one placement of a tensor to another. The
// method is A*, or Dijkstra's algorithm if all bounds are 0. Placements are visited in the order of
//
//   sum = weight (seconds + tie_break per step) + a lower bound of the remaining weight
//
// A placement is created only when the search reaches it. Therefore only few placements are stored,
// although a mesh with many axes has very many. If two placements have equal sums, the one found
// last is visited first. If two paths to a placement have equal weights, the one found first is
// kept.

#include <vector>

#include <ashlar/plan/neighbours.hpp>
#include <ashlar/plan/placement_set.hpp>
#include <ashlar/plan/step_prices.hpp>
#include <ashlar/support/min_heap.hpp>

namespace ashlar {

/// A number of seconds that is added to the cost of every step, so that paths with fewer steps win
/// ties. It is far below the latency α of any link.
inline constexpr double tie_break = 1e-13;

class path_search {
 public:
  struct node {
    double weight = unreachable;
    double expanded_to = -1;  ///< steps whose sum is at most this number have been taken
    int previous = -1;        ///< index of the previous placement on the path, or -1 at the start
    collective kind = collective::slice;
    bool settled = false;
    axis_list axes;
  };
  /// Prepares a search. `t` and `price` must outlive this object.
  ///
  ///   op      the reduction that P stands for
  ///   other   a second reduction: at a placement without P, zero_pad may create a P of either
  ///           reduction; equal to `op` if there is no second one
  ///   target  the placement to which the tensor is redistributed. Steps make an axis owned only by
  ///           the rank that owns it in `target`. If `target` is empty, no step makes an axis owned.
  constexpr path_search(topology const& t, int rank, reduction op, reduction other,
                        step_prices const& price, placement const& target = {})
      : topology_(t), price_(price), rank_(rank), op_(op), other_(other), target_(target) {}

  constexpr placement const& state(int i) const { return states_[i]; }
  constexpr int size() const { return states_.size(); }
  constexpr bool settled(int i) const { return nodes_.data()[i].settled; }
  constexpr double weight(int i) const { return nodes_.data()[i].weight; }

  /// Visits placements in the order of their sums (weight + bound), beginning with `start`. Stops
  /// at the first placement whose index i satisfies stop(i). Returns this index, or -1 if there is
  /// none.
  ///
  /// bound(p, roles), with roles = axis_roles(p), is a heuristic that is admissible and consistent.
  /// Admissible: the bound is at most the remaining weight from p to any placement where the search
  /// may stop. Consistent: along a step the bound decreases by at most the step's weight.
  template <class Bound, class Stop>
  constexpr int run(placement const& start, Bound const& bound, Stop stop) {
    add(start);
    nodes_.data()[0].weight = 0;
    // Partial expansion: a step whose sum exceeds the current sum by more than `band` is postponed.
    // Most postponed steps are never taken, so few placements are stored.
    double const least = bound(start, axis_roles(start));
    double const band = least > 0 ? least / 16 : unreachable;
    open_.push(least, 0);
    while (!open_.empty()) {
      auto const [sum, i] = open_.pop();
      node& n = nodes_.data()[i];
      if (n.settled && n.expanded_to >= sum) continue;
      if (!n.settled && stop(i)) return i;
      n.settled = true;
      double const from = n.expanded_to, to = sum + band;
      n.expanded_to = to;
      double next = expand(i, op_, from, to, bound);
      if (other_ != op_) {
        double const more = expand(i, other_, from, to, bound);
        if (more < next) next = more;
      }
      if (next < unreachable) open_.push(next, i);
    }
    return -1;
  }

  /// Appends the steps of the path from the start to placement `i`.
  template <class Steps>
  constexpr void append_path(Steps& steps, int i) const {
    node const& n = nodes_.data()[i];
    if (n.previous < 0) return;
    append_path(steps, n.previous);
    steps.push_back({n.kind, n.axes, states_[n.previous], states_[i]});
  }

 private:
  constexpr int add(placement const& p) {
    int const i = states_.add(p);
    if (i == static_cast<int>(nodes_.size())) nodes_.push_back({});
    return i;
  }

  /// Takes the steps from placement `i` whose sums are above `after` and at most `upto`. The sum of
  /// a step is the weight of the path including the step, plus the bound of the remaining weight.
  /// Returns the least sum above `upto`, or `unreachable` if there is none. `pad` is the reduction
  /// that zero_pad creates.
  template <class Bound>
  constexpr double expand(int i, reduction pad, double after, double upto, Bound const& bound) {
    placement const from = states_[i];
    axis_roles const roles(from);
    double const weight = nodes_.data()[i].weight + tie_break;
    double beyond = unreachable;
    auto const take = [&](redistribution_step const& s) {
      bool const pairwise = s.kind == collective::permute && is_pairwise(s, topology_);
      axis_roles roles_after = roles;
      for (int k = 0; k < s.axes.count; ++k) {
        int const a = s.axes.items[k];
        roles_after.having[axis_roles::role(from.axis.items[a])] ^= 1u << a;
        roles_after.having[axis_roles::role(s.to.axis.items[a])] ^= 1u << a;
      }
      double const through = weight + price_(s.kind, set_of(s.axes), roles, roles_after, pairwise);
      double const sum = through + bound(s.to, roles_after);
      if (sum <= after) return;
      if (sum > upto) {
        if (sum < beyond) beyond = sum;
        return;
      }
      int const to = add(s.to);
      node& n = nodes_.data()[to];
      if (n.settled || !(through < n.weight)) return;
      n.weight = through;
      n.previous = i;
      n.kind = s.kind;
      n.axes = s.axes;
      open_.push(sum, to);
    };
    for_each_step(from, rank_, topology_, pad, take, target_);
    return beyond;
  }

  topology const& topology_;
  step_prices const& price_;
  int rank_;
  reduction op_;
  reduction other_;
  placement target_;
  placement_set states_;
  std::vector<node> nodes_;
  min_heap open_;
};

}  // namespace ashlar
