// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The numbers of a class of choices: what each choice costs and keeps, and the states of its
// boundaries; without the choices that dominance.hpp drops.
//
//   weight   of the element; of a residual: of both of its ends
//   memory   as far as it is asked for (pruning)

#include <vector>

#include <ashlar/search/cost.hpp>
#include <ashlar/search/dominance.hpp>

namespace ashlar::search {

/// Fills in `c`, which says what layer it is of and what its boundaries see, from all its choices.
template <int N, tabulated_move_prices Paths>
constexpr void fill_class(choice_class& c, basic_problem<N> const& net,
                          std::vector<layer_choice> const& all, Paths& paths, pruning prune) {
  layer_spec const& spec = net.layer(c.layer);
  int const n = static_cast<int>(all.size());
  layer_choice const* const choice = all.data();
  element_prices const own(net, spec, c.runs, paths);
  element_prices const of_end(net, net.layer(c.end < 0 ? c.layer : c.end), c.runs, paths);
  c.weight = scratch<double>(all.size());
  c.memory = scratch<element_memory>(all.size());
  for (int j = 0; j < n; ++j) {
    c.weight.data()[j] = own.weight(choice[j]);
    if (prune != pruning::by_time)
      c.memory.data()[j] = memory_of(net, spec, choice[j], paths.mesh(), c.saved);
    if (c.end < 0) continue;
    c.weight.data()[j] += of_end.weight(choice[j]);
    auto const end_holds = [](saved_part of_begin) {
      return of_begin == saved_part::all ? saved_part::all : saved_part::nothing;
    };
    if (prune != pruning::by_time)
      c.memory.data()[j].kept += memory_of(net, net.layer(c.end), choice[j], paths.mesh(),
                                           {end_holds(c.saved.waiting), end_holds(c.saved.own)})
                                     .kept;
  }
  int const x = paths.table(c.x_extents, net.element_size),
            y = paths.table(c.y_extents, net.element_size);
  auto const states = [&](int table, placement layer_choice::*which) {
    scratch<int> list(all.size());
    for (int j = 0; j < n; ++j) list.data()[j] = paths.state(table, choice[j].*which);
    return list;
  };
  c.x = states(x, &layer_choice::x);
  c.y = states(y, &layer_choice::y);
  c.dy = states(y, &layer_choice::dy);
  c.dx = states(x, &layer_choice::dx);
  // Of residuals bounded_choices.hpp leaves fewer.
  if (prune == pruning::keep_all || !c.plain ||
      (Paths::orders != shard_orders::all && c.end >= 0)) {
    c.choices = all;
    return;
  }
  auto const keep = undominated(c, paths, net);
  c.keep_numbers(keep);
  c.choices.reserve(c.weight.size());
  for (int j = 0; j < n; ++j)
    if (keep.data()[j]) c.choices.push_back(choice[j]);
}

}  // namespace ashlar::search
