// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The common part of all builders of synchronization strategies. A builder takes a plan and changes
// only how its parameters are stored, updated and synchronized. Builders share these functions:
//
//   stored_as_used   the placement of a parameter that every rank stores as its layer reads it
//   can_divide       whether the ranks along an axis can share out the update of a parameter
//   changed_plan     the plan with other placements of its parameters, and with its new costs
//   price_again      the new costs of a changed plan
//
// All layers compute as before, and as many micro-batches take turns as before. The seconds and the
// memory of the plan are predicted anew. The seconds are those of a step in which nothing overlaps.
// No lower bound is known for the new plan, since the bound of the given plan holds only for the
// plans that its search permits. The memory limit of the machine is ignored: the caller must
// compare it with the memory of the new plan.

#include <string>

#include <ashlar/search/cost.hpp>
#include <ashlar/search/legal.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/sync/summing_wire.hpp>

namespace ashlar::sync {

/// Returns the placement at which a parameter is stored if it is stored as its layer reads it. A
/// parameter that the layer reads as a partial sum is stored replicated.
constexpr placement stored_as_used(search::parameter_choice const& p) {
  return ashlar::detail::reduced(p.use);
}

/// Returns whether the ranks along axis `a` can share out the update of a parameter that is stored
/// at `stored`. They can if they store the same part of the parameter and its gradient is not split
/// along the axis: either one rank updates this part for all, or each rank updates a piece of it.
constexpr bool can_divide(search::parameter_choice const& p, placement const& stored,
                          topology const& t, int a) {
  return t.extent(a) > 1 && stored[a].is_broadcast() && !p.grad[a].is_split();
}

/// Throws ashlar::error if the plan is of another net. `caller` is the name of the function.
template <int N>
constexpr void check_plan_of(char const* caller, search::basic_problem<N> const& net,
                             search::basic_plan<N> const& chosen) {
  if (chosen.size() != net.size() || chosen.problem_hash != search::hash(net))
    throw error(caller, "the plan is of another net. Give the problem for which it was made.");
}

/// Predicts the costs of a changed plan on machine `m`. The number of micro-batches that take turns
/// is that of the plan and not that of the problem, since a search may have chosen it.
template <int N>
constexpr void price_again(search::basic_plan<N>& chosen, search::basic_problem<N> net,
                           machine const& m) {
  net.interleaved = chosen.interleaved;
  search::predict(chosen, net, m);
  chosen.gap = 1;
}

/// Returns the plan `chosen` of `net` after change(parameter, extents) has changed `store`,
/// `update`, `in_rows`, `wire` and `delay` of every parameter. The new costs are for machine `m`.
/// `in_rows` is set to false before `change` is called, and the new plan has no staleness. `change`
/// is called once for each parameter, in the order of the net. The later use of a tied parameter
/// gets what `change` chooses for the first use (take_strategy). If only one use can have a wire
/// with momentum, neither gets a wire. `builder` is the caller's name. Communicates nothing. Throws
/// ashlar::error if `chosen` is a plan of another net, or if a parameter cannot have the new
/// placements.
template <int N, class Change>
constexpr search::basic_plan<N>
changed_plan(char const* builder, search::basic_problem<N> const& net, search::basic_plan<N> chosen,
             machine const& m, Change change) {
  check_plan_of(builder, net, chosen);
  chosen.staleness = search::synchronous;
  int i = 0;
  for (auto& c : chosen.choices) {
    auto const& spec = net.spec(i);
    for (int k = 0; k < c.parameters.size(); ++k) {
      if (spec.parameters[k].tie == search::tie_role::later) continue;
      auto& p = c.parameters[k];
      p.in_rows = false;
      change(p, spec.parameters[k].extents);
      if (char const* const wrong = search::storage_fault(p, spec.parameters[k], chosen.mesh))
        throw error(builder, "element " + std::to_string(i) + " (" + spec.name.text +
                                 "), parameter " + spec.parameters[k].name.text + ": " + wrong);
    }
    ++i;
  }
  for (auto const& t : net.ties) {
    auto& first = (chosen.choices.begin() + t.first)->parameters[t.first_index];
    auto& later = (chosen.choices.begin() + t.later)->parameters[t.later_index];
    take_strategy(later, first, net.spec(t.later).parameters[t.later_index].extents, chosen.mesh);
    if (is_half_momentum(first.wire, later.wire)) first.wire = later.wire = {};
  }
  price_again(chosen, net, m);
  return chosen;
}

}  // namespace ashlar::sync
