// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Delays the gradients of a plan, whatever the strategy by which they are synchronized:
//
//   plan = sync::delayed{1}(problem, plan, machine);                               // all
//   plan = sync::pinned(problem, plan, machine, "3.weight", sync::delayed{1});     // one
//
// The update of step t takes the gradient that step t - delay has made with the parameters of that
// earlier step. The first `delay` steps make no update. A gradient is synchronized in the step
// after its own step, while the passes of that next step run. A step moves the same bytes as
// without delays. The training is another algorithm than without delays: a large learning rate may
// no longer converge. It is deterministic. The norm for clipping is that of the gradients that the
// update takes.
//
// With a delay of 1 a step takes as long as the longer of its passes and its synchronization, if
// nothing else waits. Longer delays save no predicted seconds, and use more memory.
//
//   memory    a second gradient sum at `grad`, and delay - 1 gradients at `update`
//
// Builders of strategies keep the delays of a plan, so the strategy may be chosen before or after
// the delays. Gradients in rows (rows.hpp) have no delay.

#include <ashlar/step/staleness.hpp>
#include <ashlar/sync/changed_plan.hpp>

namespace ashlar::sync {

struct delayed {
  int steps = 1;

  /// Returns the plan `chosen` of `net` in which all gradients are delayed by `steps` (0: not
  /// delayed), priced on machine `m`. Gradients in rows keep a delay of 0. Communicates nothing.
  /// Throws ashlar::error if `chosen` is a plan of another net, or if `steps` is not from 0 to
  /// search::most_delay. If `steps` is above 0, also throws if `chosen` has a staleness, or wires
  /// after plain steps.
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> chosen, machine const& m) const {
    check_plan_of("sync::delayed", net, chosen);
    if (steps < 0 || steps > search::most_delay)
      throw error("sync::delayed", "a gradient is delayed by 0 to 1000 steps, not by " +
                                       std::to_string(steps) + ". Write a delay in this range.");
    for (auto& c : chosen.choices)
      for (auto& p : c.parameters) p.delay = p.in_rows ? 0 : steps;
    for (char const* const wrong :
         {search::staleness_fault(net, chosen, m), search::plain_steps_fault(chosen)})
      if (wrong != nullptr) throw error("sync::delayed", wrong);
    price_again(chosen, net, m);
    return chosen;
  }
};

}  // namespace ashlar::sync
