// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches for the fastest plan with pins (prescribed placements, pin.hpp), and says how much time
// the pins cost:
//
//   auto const p = search::optimal_with_pins(problem, topology, machine,
//                                            {search::parse_pin("3.x=S(0),B")});
//   p.plan                  the fastest plan that satisfies the pins
//   p.sentence()            "your pin costs 4.10 ms a step (3.2 %)"
//
// If an element has several pins, its choice must satisfy all of them. If no choice does, the error
// lists the nearest choices. A pin on either end of a residual block applies to both ends.
//
// search::pipeline takes pins as an option. cost_of_pins writes the sentence for any two plans.

#include <ashlar/search/optimal.hpp>
#include <ashlar/search/pinned_choices.hpp>
#include <ashlar/search/text.hpp>

namespace ashlar::search {

/// Returns a sentence that says what pins cost, such as "your pin costs 4.10 ms a step (3.2 %)".
/// `with` and `without` are the seconds of a step under the plans with and without the pins.
inline std::string cost_of_pins(std::size_t pins, double with, double without) {
  std::string const whose = pins == 1 ? "your pin costs " : "your pins cost ";
  if (with - without <= 1e-9 * without) return whose + "nothing";
  return whose + seconds_text(with - without) + " a step (" +
         detail::percent_text((with - without) / without) + ")";
}

/// The fastest plan that satisfies some pins, and the time that the pins cost.
template <int N>
struct pinned_plan {
  basic_plan<N> plan;
  basic_plan<N> without;  ///< the optimum without pins
  std::size_t pins = 0;

  double seconds() const { return plan.seconds - without.seconds; }

  /// Returns a sentence such as "your pin costs 4.10 ms a step (3.2 %)".
  std::string sentence() const { return cost_of_pins(pins, plan.seconds, without.seconds); }
};

/// Returns the fastest plan that satisfies the pins. Throws the errors of `optimal`, and
/// ashlar::error if a pin cannot be satisfied.
template <int N>
pinned_plan<N> optimal_with_pins(basic_problem<N> const& net, topology const& t, machine const& m,
                                 std::vector<pin> const& pins) {
  pinned_choices<N> const filter(net, t, pins);
  return {optimal(net, t, m, filter), optimal(net, t, m), pins.size()};
}

}  // namespace ashlar::search
