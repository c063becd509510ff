// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says which gradients an optimizer may square. AdamW divides by an average of squared gradients.
// Wires that distort squares (plan/wire.hpp) would give all elements of a block the same average,
// so that AdamW became momentum with one learning rate for a whole tensor:
//
//   wire of the parameter's gradient   plain steps   squares that enter the average
//   none, or one that keeps squares    any           of all steps
//   one_bit, top_k                     n > 0         of steps 1 .. n, whose gradients are exact
//   one_bit, top_k                     0             of all steps, since no gradient is exact
//
// Source: Tang et al., "1-bit Adam: Communication Efficient Large-Scale Training with Adam's
// Convergence Speed", 2021, which calls the number of plain steps freeze_step.

#include <cstdint>
#include <limits>
#include <string_view>

#include <ashlar/plan/wire.hpp>

namespace ashlar::train {

/// Returns the number of first steps whose squared gradients an optimizer may average for the
/// parameter. Communicates nothing.
template <class Model, class Parameter>
std::int64_t squared_steps(Model const& model, Parameter const& p) {
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  auto const& plan = model.plan();
  if (plan.plain_steps == 0) return all;
  auto const& problem = model.problem();
  auto const& spec = problem.spec(p.element());
  for (int k = 0; k < spec.parameters.size(); ++k) {
    if (spec.parameters[k].name.text != std::string_view(p.name())) continue;
    bool distorts = plan[p.element()].parameters[k].wire.distorts_squares();
    for (auto const& t : problem.ties)
      if (t.first == p.element() && t.first_index == k)
        distorts = distorts || plan[t.later].parameters[t.later_index].wire.distorts_squares();
    if (distorts) return plan.plain_steps;
  }
  return all;
}

}  // namespace ashlar::train
