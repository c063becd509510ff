// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which plans can train with stale parameters (plan::staleness). In such a training every rank is a
// worker and an owner (sync/update_clock.hpp). Apart from what workers and owners send each other,
// nothing may make ranks wait for each other. So a plan must have these properties:
//
//   mesh         one axis has several ranks, along which gradients are partial
//   parameters   each is stored as a copy on every rank and updated by its owner (sync/owners.hpp)
//   passes       move nothing between ranks: the net is placed by pure data parallelism
//   gradients    are sent unencoded (without wires), as whole tensors (not in rows), and without
//                delays
//
// The predicted seconds of such a plan are those of synchronous steps.

#include <ashlar/step/build.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

/// Returns the axis along which the mesh has several ranks, or -1 if there is not exactly one such
/// axis.
constexpr int only_axis(topology const& t) {
  int only = -1;
  for (int a = 0; a < t.axes(); ++a) {
    if (t.extent(a) == 1) continue;
    if (only >= 0) return -1;
    only = a;
  }
  return only;
}

/// Returns whether the passes of a program move nothing between ranks.
constexpr bool has_local_passes(program const& p) {
  for (auto const& m : p.moves)
    if (m.phase != phase::synchronize && m.phase != phase::renew && !p.path_of(m).is_local())
      return false;
  return p.halos.empty() && p.row_exchanges.empty();
}

}  // namespace step_detail

/// Returns why no net can be trained with the staleness of a plan. Returns null if the plan alone
/// does not rule this out, or if the plan is synchronous.
template <int N>
constexpr char const* staleness_fault(basic_plan<N> const& chosen) {
  if (!is_stale(chosen)) return nullptr;
  if (chosen.staleness < 0)
    return "a staleness is 0 steps or more. Write 0 or more, or sync::asynchronous.";
  int const axis = step_detail::only_axis(chosen.mesh);
  if (axis < 0)
    return "parameters are stale along one axis, but this mesh does not have exactly one axis with "
           "several ranks. Give a mesh that has one, or leave out the staleness.";
  if (has_wires(chosen) || has_delays(chosen) || has_rows(chosen))
    return "gradients of a plan with staleness are sent as they are, at once and as tensors. Leave "
           "out its wires, delays and rows, or the staleness.";
  auto const is_owned = [&](parameter_choice const& p) {
    return p.grad[axis].is_partial() && p.store == p.use && p.store[axis].is_broadcast() &&
           p.is_updated_apart() && p.update[axis].is_owned();
  };
  if (any_parameter(chosen, [&](parameter_choice const& p) { return !is_owned(p); }))
    return "a plan with staleness sends all gradients to owners, and ranks read copies. Give all "
           "parameters sync::owners{.staleness = K} in a plan that splits only the batch, or leave "
           "out the staleness.";
  return nullptr;
}

/// Returns why a net cannot be trained with the staleness of a plan. Returns null if it can, or if
/// the plan is synchronous. `m` is any machine. Expects a plan whose placements are legal.
template <int N>
constexpr char const* staleness_fault(basic_problem<N> const& net, basic_plan<N> const& chosen,
                                      machine const& m) {
  if (!is_stale(chosen)) return nullptr;
  if (char const* const wrong = staleness_fault(chosen)) return wrong;
  if (!step_detail::has_local_passes(build(net, chosen, m)))
    return "other moves of the plan use the axis along which parameters are stale, so ranks would "
           "wait for each other in each step. Give a plan that splits only the batch, or leave out "
           "the staleness.";
  return nullptr;
}

}  // namespace step
}  // namespace ashlar::search
