// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the interface that gives the search the cost of a move (the redistribution of one tensor
// from one placement to another). There are three implementations:
//
//   tabulated_moves     exact prices, from tables for all pairs of placements
//   planned_moves       the same prices; each redistribution is planned at its first use
//   basic_role_moves    lower bounds that ignore shard order
//
// Algorithms minimize the weight: seconds + tie * collectives. So among plans of equal time, they
// find one with the fewest collectives. `tie` is a number of seconds. It must be so small that it
// never outweighs a real difference in time (tie_weight in choice_class.hpp).

#include <concepts>

#include <ashlar/plan/encoded_redistribution.hpp>

namespace ashlar::search {

/// The price of one move: seconds, and weight = seconds + tie * collectives.
struct move_price {
  double seconds = 0;
  double weight = 0;
};

/// A class that prices moves on one mesh and machine. table() returns a handle for tensors with the
/// given extents and bytes per element. The handle is valid for tensors whose P axes are reduced by
/// sums. move() with a handle returns the same price as move() with extents, but is faster.
template <class T>
concept move_prices = requires(T& prices, int table, shape const& extents, placement const& p) {
  { prices.mesh() } -> std::same_as<topology const&>;
  { prices.priced_on() } -> std::same_as<machine const&>;
  { prices.table(extents, 4) } -> std::same_as<int>;
  { prices.move(table, p, p) } -> std::same_as<move_price>;
  { prices.move(extents, 4, p, p) } -> std::same_as<move_price>;
};

/// A class that prices moves from tables. The state of a placement is its number in a table.
/// weight_from() returns the weights of all moves from one state, indexed by target state. `orders`
/// says which shard orders the states distinguish.
template <class T>
concept tabulated_move_prices = move_prices<T> &&
                                requires(T& prices, int table, int state, placement const& p) {
                                  { prices.state(table, p) } -> std::same_as<int>;
                                  {
                                    prices.weight_from(table, state)
                                  } -> std::same_as<double const*>;
                                  T::orders;
                                };

/// Returns the price of the redistribution that plan_redistribution finds. For each collective,
/// `tie` is added to the weight.
constexpr move_price planned_price(shape const& extents, int element_size, placement const& from,
                                   placement const& to, topology const& t, machine const& m,
                                   double tie) {
  auto const path = plan_redistribution(extents, element_size, from, to, t, m);
  int collectives = 0;
  for (auto const& step : path.steps) collectives += communicates(step.kind);
  return {path.seconds, path.seconds + tie * collectives};
}

/// Returns the price of a redistribution whose steps have a wire. The search never compares wires
/// by their numbers of collectives, so the weight is the seconds.
constexpr move_price encoded_price(shape const& extents, int element_size, placement const& from,
                                   placement const& to, wire_format const& wire, topology const& t,
                                   machine const& m) {
  double const seconds = plan_encoded(extents, element_size, from, to, wire, t, m).seconds;
  return {seconds, seconds};
}

}  // namespace ashlar::search
