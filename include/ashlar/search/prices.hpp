// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Who says what a move costs. Every price in the search is a sum over the actions that step/visit.hpp
// visits (cost.hpp); what it asks for moves is one of these:
//
//   tabulated_moves                a redistribution's exact price, tabulated for all pairs of placements
//   planned_moves          the same, each redistribution planned when it is first asked for
//   basic_role_moves     a lower bound of it, which does not know in which order shards nest
//
// An algorithm minimizes the weight: seconds + tie * collectives. Of plans that take equally long it
// then finds one with the fewest collectives. `tie` has to be so small that it hides no real
// difference (tie_weight in choice_class.hpp).

#include <concepts>

#include <ashlar/plan/redistribution.hpp>

namespace ashlar::search {

/// The price of one move.
struct move_price {
  double seconds = 0;
  double weight = 0;
};

/// Knows what moves on one mesh and one machine cost. A table is a number for the extents of a tensor of
/// sums and the bytes of its elements, with which its moves are found faster; both functions `move`
/// give the same price.
template <class T>
concept move_prices = requires(T& prices, int table, shape const& extents, placement const& p) {
  { prices.mesh() } -> std::same_as<topology const&>;
  { prices.priced_on() } -> std::same_as<machine const&>;
  { prices.table(extents, 4) } -> std::same_as<int>;
  { prices.move(table, p, p) } -> std::same_as<move_price>;
  { prices.move(extents, 4, p, p) } -> std::same_as<move_price>;
};

/// Knows the prices of all moves of a tensor: placements are states with numbers, the same numbers in
/// all tables of one rank, and the weights of all moves from one state lie side by side. `orders` says in
/// what the states differ.
template <class T>
concept tabulated_move_prices = move_prices<T> &&
                                requires(T& prices, int table, int state, placement const& p) {
                                  { prices.state(table, p) } -> std::same_as<int>;
                                  {
                                    prices.weight_from(table, state)
                                  } -> std::same_as<double const*>;
                                  T::orders;
                                };

/// The price of the redistribution that plan_redistribution finds.
constexpr move_price planned_price(shape const& extents, int element_size, placement const& from,
                                   placement const& to, topology const& t, machine const& m,
                                   double tie) {
  auto const path = plan_redistribution(extents, element_size, from, to, t, m);
  int collectives = 0;
  for (auto const& step : path.steps) collectives += communicates(step.kind);
  return {path.seconds, path.seconds + tie * collectives};
}

}  // namespace ashlar::search
