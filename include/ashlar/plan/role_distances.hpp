// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes lower bounds of the cost of redistributing a tensor from a placement to a target
// placement. The bounds are an admissible heuristic for path_search. They are distances in a graph
// that is smaller than the graph of all placements. The states of the smaller graph are placements
// without shard order: the role (B, P or the dim that is split) of each mesh axis. Its steps may
// change any axes of a dim, not only the innermost. Every step of the full graph that changes a
// role is also a step of the smaller graph, at the same price, because prices do not depend on
// shard order. So no distance in the smaller graph exceeds the distance in the full graph. One
// Dijkstra search from the target, against the direction of the steps, finds the distances.
//
//   state    a number in base (number of dims) + 2, with a digit per axis: the role of the axis
//   steps    any set of axes of one role gets another role (kind_between); slice and zero_pad
//            change one axis at a time; two axes may exchange their roles (exchange_roles)
//   radius   the distance at which the search stopped; it is a lower bound for the states that the
//            search has not reached

#include <ashlar/plan/path_search.hpp>
#include <ashlar/support/min_heap.hpp>

namespace ashlar {

class role_distances {
 public:
  /// Makes an object without distances. `t` and `price` must outlive it.
  constexpr role_distances(topology const& t, int rank, step_prices const& price)
      : topology_(t), price_(price), roles_(rank + 2), moved_(std::size_t{1} << t.axes()) {
    int states = 1;
    for (int a = 0; a < t.axes(); ++a, states *= roles_) {
      place_[a] = states;
      for (int set = 0; set < 1 << a; ++set)
        moved_.data()[set | 1 << a] = moved_.data()[set] + states;
    }
    weight_ = scratch<double>(static_cast<std::size_t>(states), unreachable);
  }

  /// Returns the number of the state in which the axes have these roles (B, P or S(dim)).
  constexpr int state(axis_roles const& roles) const {
    int state = 0;
    for (int r = 1; r < roles_; ++r) state += r * moved_.data()[roles.having[r]];
    return state;
  }

  /// Returns a lower bound of the cost from a state to the target. A state is a placement without
  /// its shard order.
  constexpr double operator()(int state) const {
    double const w = weight_.data()[state];
    return w < radius_ ? w : radius_;
  }

  /// Finds distances to state `target`, where a state is a placement without its shard order. If
  /// `from` is -1, finds the distances of all states. Otherwise finds the distances of the states
  /// that are at most as far from `target` as state `from` is.
  constexpr void find(int target, int from) {
    open(target, 0);
    settle(from);
  }

  /// Finds the distances of paths on which the reduction of P changes, for example from sum to
  /// maximum. A path can change the reduction only at a state (a placement without its shard order)
  /// that has no P. `beyond` has the distances from such states to the target. The search stops at
  /// state `from`, as in `find`.
  constexpr void find_through_whole(role_distances const& beyond, int from) {
    for (int i = 0; i < static_cast<int>(weight_.size()); ++i)
      if (roles_of(i).having[axis_roles::partial] == 0) open(i, beyond.weight_.data()[i]);
    settle(from);
  }

  /// Returns the kind of step that changes axes from role `from` to a different role `to`. A role
  /// is B, P or S(dim), as a number.
  static constexpr collective kind_between(int from, int to) {
    bool const to_split = to >= axis_roles::first_split;
    if (from == axis_roles::broadcast) return to_split ? collective::slice : collective::zero_pad;
    if (from == axis_roles::partial)
      return to_split ? collective::reduce_scatter : collective::all_reduce;
    return to_split                    ? collective::all_to_all
           : to == axis_roles::partial ? collective::zero_pad
                                       : collective::all_gather;
  }

 private:
  constexpr axis_roles roles_of(int state) const {
    axis_roles r;
    for (int a = 0; a < topology_.axes(); ++a, state /= roles_) r.having[state % roles_] |= 1u << a;
    return r;
  }

  constexpr bool could_improve(int state, double weight) const {
    return weight < weight_.data()[state];
  }

  constexpr void open(int state, double weight) {
    if (!could_improve(state, weight)) return;
    weight_.data()[state] = weight;
    open_.push(weight, state);
  }

  constexpr void settle(int from) {
    while (!open_.empty()) {
      auto const [weight, state] = open_.pop();
      if (weight > weight_.data()[state]) continue;  // a shorter path was found after the push
      radius_ = weight;
      if (state == from) return;
      expand(state, weight + tie_break);
    }
    radius_ = unreachable;
  }

  constexpr void expand(int state, double weight) {
    axis_roles const to = roles_of(state);
    for (int y = 0; y < roles_; ++y)
      for (int x = 0; x < roles_ && to.having[y] != 0; ++x)
        if (x != y) enter(state, weight, to, x, y);
    for (int a = 0; a < topology_.axes(); ++a)
      for (int b = a + 1; b < topology_.axes(); ++b) {
        int const x = state / place_[a] % roles_, y = state / place_[b] % roles_;
        if (x == y || !exchange_roles(topology_, a, b,
                                      x >= axis_roles::first_split && y >= axis_roles::first_split))
          continue;
        axis_set const both = 1u << a | 1u << b;
        axis_roles from = to;
        from.having[x] ^= both;
        from.having[y] ^= both;
        open(state + (y - x) * (place_[a] - place_[b]),
             weight + price_(collective::permute, both, from, to,
                             topology_.extent(a) == topology_.extent(b)));
      }
  }

  /// Updates the distances of the states that come before `state`: a step from such a state to
  /// `state` changes axes from role x to role y. `weight` is the distance of `state` to the target,
  /// plus tie_break.
  constexpr void enter(int state, double weight, axis_roles const& to, int x, int y) {
    collective const kind = kind_between(x, y);
    axis_set const all = to.having[y];
    if (!communicates(kind)) {
      for (int a = 0; a < topology_.axes(); ++a)
        if ((all >> a & 1u) != 0) open(state + (x - y) * place_[a], weight);
      return;
    }
    axis_roles from = to;
    for (axis_set moving = all; moving != 0; moving = (moving - 1) & all) {
      from.having[x] = to.having[x] | moving;
      from.having[y] = all ^ moving;
      int const before = state + (x - y) * moved_.data()[moving];
      if (could_improve(before, weight)) open(before, weight + price_(kind, moving, from, to));
    }
  }

  topology const& topology_;
  step_prices const& price_;
  int roles_;
  int place_[max_axes]{};
  scratch<int> moved_;  ///< per set of axes: the sum of their place values in a state's number
  scratch<double> weight_;
  min_heap open_;
  double radius_ = 0;
};

}  // namespace ashlar
