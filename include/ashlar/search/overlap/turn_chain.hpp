// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Holds the numbers from which a plan is priced if several micro-batches take turns: while one
// micro-batch computes, the redistributions of the others are under way (HiDup, SoCC 2022).
//
// The elements of a chain and their choices are those of the problem (step/problem.hpp). All
// numbers are seconds. Work and moves are those of one micro-batch:
//
//   forward, backward       the work of an element in the two passes
//   beside                  the part of `backward` that runs beside a move of dx
//   after_weights           the part of `backward` that can follow the gradients of the weights
//   inside                  a redistribution inside the forward pass of an element: that of its
//                           statistics
//   boundaries              redistributions between two neighbours in the two passes
//   gathers                 all-gathers of weights before their first use in a step, in seconds per
//                           link
//   again                   all other gathers of these weights in a step, in seconds per link
//   synchronize             synchronization of the gradients of weights after the last micro-batch,
//                           in seconds per step and link
//
// Elements with equal numbers share one entry, and so do equal boundaries and equal moves.

#include <array>
#include <cstddef>
#include <vector>

#include <ashlar/mesh/topology.hpp>

namespace ashlar::search {

/// The largest number of micro-batches that can take turns.
inline constexpr int max_turns = 8;

/// The number of links that carry moves: one for each link_tier.
inline constexpr int turn_links = 2;

/// A step of a move, on one link.
struct turn_step {
  int link = 0;
  double seconds = 0;
  friend constexpr bool operator==(turn_step const&, turn_step const&) = default;
};

/// A redistribution: its steps, one after the other. Two neighbouring steps are on different links.
/// Without any step, nothing is sent.
struct turn_move {
  std::vector<turn_step> steps;

  /// Adds a step. If the last step is on the same link, makes that step longer instead.
  constexpr void add(int link, double seconds) {
    if (!steps.empty() && steps.back().link == link) steps.back().seconds += seconds;
    else steps.push_back({link, seconds});
  }
  constexpr double on(int link) const {
    double sum = 0;
    for (auto const& s : steps) sum += s.link == link ? s.seconds : 0;
    return sum;
  }
  constexpr double seconds() const { return on(0) + on(1); }
  friend constexpr bool operator==(turn_move const&, turn_move const&) = default;
};

/// The numbers of an element, with one entry per choice.
struct turn_costs {
  std::vector<double> forward, backward, beside, after_weights;
  std::vector<int> inside;  ///< index into turn_chain::moves
  std::vector<std::array<double, turn_links>> gathers, again, synchronize;
  int size() const { return static_cast<int>(forward.size()); }
};

/// The redistributions between two neighbours, as indices into turn_chain::moves. The list index
/// is: choice of the left element * number of choices of the right element + choice of the right
/// element.
struct turn_boundary {
  std::vector<int> forward, backward;
};

struct turn_chain {
  /// An element of the chain. The two ends of a residual have the same choice.
  struct element {
    int costs = 0;     ///< index into turn_chain::costs
    int partner = -1;  ///< index of the other end of a residual, or -1 for a layer
  };
  int turns = 2;        ///< the number of micro-batches that take turns; together they are a group
  int groups = 1;       ///< the number of complete groups in a step
  double per_step = 1;  ///< micro-batches of a step, divided by `turns`
  std::vector<element> elements;
  std::vector<turn_move> moves{1};  ///< the first move sends nothing
  std::vector<turn_costs> costs;
  std::vector<turn_boundary> boundaries;
  std::vector<int> boundary_after;  ///< per element but the last: index into boundaries

  int size() const { return static_cast<int>(elements.size()); }
  turn_costs const& at(int i) const {
    return costs[static_cast<std::size_t>(elements[static_cast<std::size_t>(i)].costs)];
  }
  turn_boundary const& behind(int i) const {
    return boundaries[static_cast<std::size_t>(boundary_after[static_cast<std::size_t>(i)])];
  }
  turn_move const& move(int index) const { return moves[static_cast<std::size_t>(index)]; }
  int choices(int i) const { return at(i).size(); }
};

}  // namespace ashlar::search
