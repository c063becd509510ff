// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Rearranges a choice: its shards nest in another order of the axes, and signature rows move to
// other axes. Storage stays replicated or sharded as it was. If rows move only between
// interchangeable axes (equal extent and network tier), the result is one of the choices that
// choices.hpp lists.

#include <ashlar/search/choices.hpp>

namespace ashlar::search::detail {

/// Returns a rearranged choice: axis a gets the placements that axis from[a] has in `c`, and shards
/// nest in the given order of the axes.
constexpr layer_choice reordered(layer_choice c, axis_order const& order, axis_order const& from) {
  placement const whole = placement::all_broadcast(order.size());
  auto const nest = [&](placement& p) {
    p = assemble(order, whole, [&from, before = p](int a) { return before[from[a]]; });
  };
  for (placement* p : {&c.x, &c.y, &c.dy, &c.dx}) nest(*p);
  for (auto& p : c.parameters) {
    placement const stored = p.store, updated = p.update;
    nest(p.use);
    nest(p.grad);
    p.store = ashlar::detail::reduced(p.use);
    for (auto const a : order)
      if (stored[from[a]].is_split() && !p.store[a].is_split()) p.store = p.store.with_split(a, 0);
    if (!(updated.axes() > 0)) continue;
    placement update = ashlar::detail::reduced(p.use);
    for (auto const a : order)
      if (updated[from[a]].is_split() && !update[a].is_split()) update = update.with_split(a, 0);
    p.set_update(update);
  }
  for (auto& s : c.statistics) nest(s.from), nest(s.to);
  return c;
}

/// Returns the choice with shards nested in the given order of the axes.
constexpr layer_choice reordered(layer_choice const& c, axis_order const& order) {
  return reordered(c, order, all_axes(order.size()));
}

}  // namespace ashlar::search::detail
