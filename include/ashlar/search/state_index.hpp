// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which state of a placement graph a placement is, by direct look-up: each axis is a digit (B, P, or
// a split by dim and depth), the digits are a place in a table. The search asks this for every
// tensor of every choice; placement_graph::find, a hash table, takes ten times the evaluator steps.

#include <ashlar/plan/placement_graph.hpp>

namespace ashlar::search {

class state_index {
 public:
  constexpr state_index() = default;
  constexpr explicit state_index(placement_graph const& graph)
      : axes_(graph.mesh().axes()), base_(2 + graph.rank() * axes_) {
    std::size_t places = 1;
    for (int a = 0; a < axes_; ++a) places *= static_cast<std::size_t>(base_);
    if (places > most_places) return;
    state_ = scratch<int>(places, -1);
    for (int i = 0; i < graph.states(); ++i) state_.data()[place(graph.state(i))] = i;
  }

  /// False where the table would be too large: ask the graph.
  constexpr bool usable() const { return state_.size() != 0; }

  /// The number of the state; -1 if the graph does not have it. Expects a placement on the graph's
  /// mesh whose dims and depths are those of a tensor of the graph's rank.
  constexpr int find(placement const& p) const { return state_.data()[place(p)]; }

 private:
  static constexpr std::size_t most_places = std::size_t{1} << 22;

  static constexpr int digit(axis_placement const& a, int axes) {
    return a.kind == placement_kind::broadcast ? 0
           : a.kind == placement_kind::partial ? 1
                                               : 2 + a.dim * axes + a.depth;
  }

  constexpr int place(placement const& p) const {
    int place = 0;
    for (int a = 0; a < axes_; ++a) place = place * base_ + digit(p.axis.items[a], axes_);
    return place;
  }

  int axes_ = 0;
  int base_ = 2;
  scratch<int> state_;
};

}  // namespace ashlar::search
