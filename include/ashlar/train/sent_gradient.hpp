// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says what an optimizer gets of a parameter whose gradient has a wire (plan/wire.hpp), and which
// gradients it may square. AdamW divides by an average of squared gradients. Squares of what a
// coarse wire sends would give all elements of a block the same average, so that AdamW became
// momentum with one learning rate for a whole tensor:
//
//   wire after n plain steps              steps 1 .. n       later steps
//   none                                  g, squared         g, squared
//   bf16, half, int8, power_sgd           g, squared         g as sent, squared
//   one_bit, top_k                        g, squared         g as sent, not squared
//   any with momentum                     g, squared         the average of g as sent, not squared
//
// Without plain steps (n = 0) there are no exact gradients, and one_bit and top_k are squared as
// sent. Momentum needs plain steps.
//
// Source: Tang et al., "1-bit Adam: Communication Efficient Large-Scale Training with Adam's
// Convergence Speed", 2021, which calls the number of plain steps freeze_step.

#include <cstdint>
#include <limits>
#include <string_view>

#include <ashlar/step/plan.hpp>
#include <ashlar/train/optimizer.hpp>

namespace ashlar::train::detail {

/// Writes to `scale` what the gradient of a parameter is in step number `step`, counted from 0, and
/// which steps' gradients may be squared. Communicates nothing.
template <class Model, class Parameter>
void note_sent_gradient(Model const& model, Parameter const& p, std::int64_t step,
                        update_scale& scale) {
  scale.squared_steps = std::numeric_limits<std::int64_t>::max();
  scale.is_momentum = false;
  auto const& plan = model.plan();
  if (plan.plain_steps == 0) return;
  auto const& problem = model.problem();
  auto const note = [&](int element, int index) {
    auto const& choice = plan[element].parameters[index];
    if (choice.grad == choice.updated_at()) return;  // it is not sent
    if (choice.wire.distorts_squares()) scale.squared_steps = plan.plain_steps;
    scale.is_momentum = scale.is_momentum ||
                        (choice.wire.momentum && !search::is_plain_step(plan, step));
  };
  auto const& parameters = problem.spec(p.element()).parameters;
  for (int k = 0; k < parameters.size(); ++k) {
    if (parameters[k].name.text != std::string_view(p.name())) continue;
    note(p.element(), k);
    for (auto const& t : problem.ties)
      if (t.first == p.element() && t.first_index == k) note(t.later, t.later_index);
  }
}

}  // namespace ashlar::train::detail
