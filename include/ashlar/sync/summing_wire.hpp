// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides which parameters of a plan can have a wire: those whose gradients are summed over ranks
// in steps that the wire can carry. Tensors of fewer than two dims, which are biases and gains,
// have few elements and get no wire that distorts their squares (wire_format). This file also
// decides which wire the later use of a tied parameter gets. Builders choose a strategy for the
// first use only, and both uses get this strategy. If only one use can have a wire with momentum,
// the builders send the gradients of both uses as they are.

#include <ashlar/plan/encoded_redistribution.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::sync {

/// Returns whether strategies may give the wire to gradients of these extents.
constexpr bool is_for(wire_format const& wire, shape const& extents) {
  return extents.rank() > 1 || !wire.distorts_squares();
}

/// Returns whether the synchronization of a gradient of floats has a reduction that uses the wire.
constexpr bool sums_with(wire_format const& wire, search::parameter_choice const& p,
                         shape const& extents, topology const& t) {
  if (wire.is_exact() || p.in_rows || p.grad == p.updated_at() || !is_for(wire, extents) ||
      wire_fault(wire, extents, p.grad, t) != nullptr)
    return false;
  for (auto const& s : plan_encoded(extents, 4, p.grad, p.updated_at(), wire, t, {}).steps)
    if (!s.wire.is_exact() && reduces(s.kind)) return true;
  return false;
}

/// Gives the later use of a tied parameter the strategy of the first use: its `store`, `update` and
/// `delay`, and its wire if the gradient of the later use is summed with this wire too. Else the
/// later use keeps the wire that it has. `extents` are those of the later use's parameter.
constexpr void take_strategy(search::parameter_choice& later, search::parameter_choice const& first,
                             shape const& extents, topology const& t) {
  later.store = first.store;
  later.update = first.update;
  later.delay = first.delay;
  if (sums_with(first.wire, later, extents, t)) later.wire = first.wire;
}

}  // namespace ashlar::sync
