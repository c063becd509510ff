// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Enumerates the computations, redistributions and exchanges of rows of a training step: those of
// each element (a layer, or the begin, turn or end of a residual, skip or branch) and those of each
// boundary between two elements. Only this file defines which of these actions a step has.
// build.hpp stores the visited actions, and the search adds up their prices.
//
//   phase         actions of an element                             actions of a boundary
//   forward       parameters store -> use, its forward computation  y of the element before -> x
//   recompute     those of phase forward                            those of phase forward, except
//                                                                   before the segment's first
//                                                                   element
//   backward      gradients of parameters and dx, in one or two     dx of the element after -> dy
//                 computations; parameters store -> use again if
//                 dx depends on them
//   synchronize   gradients of parameters grad -> update            none
//   renew         parameters update -> store                        none
//
// A parameter has four placements: it is stored at store, the layer reads it at use, its gradient
// is made at grad, and the optimizer updates it at update, which usually is store. An element with
// k statistics has a forward computation of k + 1 parts. After each part but the last, one
// statistic is redistributed.
//
// A visitor has two functions. `compute` is called for part number `part` of the `parts` parts of a
// computation. `move` is called for each redistribution, even between equal placements:
//
//   compute(phase, computation, part, parts)
//   move(phase, moved, index, extents, from, to)
//
// A visitor may also have a function exchange_rows(k). If the gradient of parameter k is kept in
// rows (row_exchange.hpp), this function is called instead of `move` in the phase synchronize.
//
// The phases forward, recompute and backward run once per micro-batch. The phases synchronize and
// renew run once per step: synchronize before the updates of the parameters, renew after them.
// times_per_step says how often a step runs an action.

#include <ashlar/step/element_size.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/step/work.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

template <class Visitor>
constexpr void visit_uses(phase when, layer_spec const& spec, layer_choice const& c, bool backward,
                          Visitor& visit) {
  for (int k = 0; k < spec.parameters.size(); ++k)
    if (!backward || spec.parameters.items[k].in_backward)
      visit.move(when, moved::parameter, k, spec.parameters.items[k].extents,
                 c.parameters.items[k].store, c.parameters.items[k].use);
}

}  // namespace step_detail

/// Returns the wire of a redistribution of an element's tensor. Only synchronizations of gradients
/// have a wire that is not exact. `index` is the index of the parameter.
constexpr wire_format wire_of(layer_choice const& c, moved what, phase when, int index) {
  bool const is_gradient = what == moved::parameter && when == phase::synchronize;
  return is_gradient ? c.parameters.items[index].wire : wire_format{};
}

/// Calls the visitor for the actions of one element of the layer chain in one phase, in the order
/// in which a rank executes them.
template <class Visitor>
constexpr void visit_element(phase when, layer_spec const& spec, layer_choice const& c,
                             Visitor&& visit) {
  switch (when) {
    case phase::forward:
    case phase::recompute: {
      step_detail::visit_uses(when, spec, c, false, visit);
      int const parts = spec.statistics.size() + 1;
      visit.compute(when, computation::forward, 0, parts);
      for (int k = 0; k < parts - 1; ++k) {
        visit.move(when, moved::statistic, k, spec.statistics.items[k], c.statistics.items[k].from,
                   c.statistics.items[k].to);
        visit.compute(when, computation::forward, k + 1, parts);
      }
      break;
    }
    case phase::backward:
      if (has_own_weight_gradient(spec.backward))
        visit.compute(when, computation::weight_gradient, 0, 1);
      if (spec.backward == backward_form::gradients_only) break;
      step_detail::visit_uses(when, spec, c, true, visit);
      visit.compute(when,
                    spec.backward == backward_form::halves ? computation::input_gradient
                                                           : computation::backward,
                    0, 1);
      break;
    case phase::synchronize:
      for (int k = 0; k < spec.parameters.size(); ++k) {
        if (!c.parameters.items[k].in_rows) {
          visit.move(when, moved::parameter, k, spec.parameters.items[k].extents,
                     c.parameters.items[k].grad, c.parameters.items[k].updated_at());
        } else if constexpr (requires { visit.exchange_rows(k); }) {
          visit.exchange_rows(k);
        }
      }
      break;
    case phase::renew:
      for (int k = 0; k < spec.parameters.size(); ++k)
        if (c.parameters.items[k].is_updated_apart() &&
            spec.parameters.items[k].tie != tie_role::later)
          visit.move(when, moved::parameter, k, spec.parameters.items[k].extents,
                     c.parameters.items[k].update, c.parameters.items[k].store);
      break;
  }
}

/// Calls the visitor for the redistribution at the boundary between two elements in phase `when`.
/// In a forward phase, the activation moves from the placement y of the first element to x of the
/// second one. In the backward phase, its gradient moves from dx to dy. `extents` are the extents
/// of the tensor that moves.
template <class Visitor>
constexpr void visit_boundary(phase when, shape const& extents, placement const& from,
                              placement const& to, Visitor&& visit) {
  if (!repeats(when)) return;
  visit.move(when, when == phase::backward ? moved::gradient : moved::activation, 0, extents, from,
             to);
}

/// Returns how often a step redistributes a tensor of kind `what` in phase `when`: once, or once
/// per micro-batch. Without `what`, also returns how often the step runs a computation of this
/// phase. A parameter is gathered once for all micro-batches that take turns with each other
/// (turns.hpp).
template <int N>
constexpr int times_per_step(basic_problem<N> const& net, phase when,
                             moved what = moved::activation) {
  if (!repeats(when)) return 1;
  if (what != moved::parameter || net.interleaved < 2) return net.micro_batches;
  return (net.micro_batches - 1) / net.interleaved + 1;
}

/// Calls f(phase) for each phase of an element of the layer chain. Only a recomputed element has
/// the phase recompute.
template <class F>
constexpr void for_each_phase(forward_runs runs, F f) {
  f(phase::forward);
  if (runs != forward_runs::once) f(phase::recompute);
  f(phase::backward);
  f(phase::synchronize);
  f(phase::renew);
}

namespace step_detail {

/// A visitor of a layer's actions that adds up the seconds of its computations.
struct work_sum {
  layer_spec const& spec;
  machine const& priced_on;
  int element_size;
  work_factors by;
  double seconds = 0;

  constexpr void compute(phase, computation what, int part, int) {
    if (part == 0) seconds += work_seconds(work_of(spec, what), priced_on, element_size, by);
  }
  constexpr void move(phase, moved, int, shape const&, placement const&, placement const&) {}
};

}  // namespace step_detail

/// Returns the seconds that a layer computes per micro-batch under a choice `c` of its placements,
/// in all its passes, on the busiest rank.
constexpr double work_seconds(layer_spec const& spec, layer_choice const& c, machine const& m,
                              int element_size, work_factors const& by, forward_runs runs) {
  step_detail::work_sum sum{spec, m, element_size, by};
  for_each_phase(runs, [&](phase when) {
    if (repeats(when)) visit_element(when, spec, c, sum);  // other phases compute nothing
  });
  return sum.seconds;
}
constexpr double work_seconds(layer_spec const& spec, layer_choice const& c, topology const& t,
                              machine const& m, int element_size,
                              forward_runs runs = forward_runs::once) {
  return work_seconds(spec, c, m, element_size, factors_of(spec, c, t, m), runs);
}

/// Returns the seconds that a single rank would compute for a layer per micro-batch, in all passes,
/// with GEMMs at peak speed. This is a lower bound of the sum over all ranks.
constexpr double whole_work_seconds(layer_spec const& spec, machine const& m, int element_size,
                                    forward_runs runs = forward_runs::once) {
  layer_choice const anywhere;
  return work_seconds(spec, anywhere, m, element_size, {}, runs);
}

/// Calls f(phase) for each phase in which a tensor passes between an element of the layer chain and
/// the element before it.
template <class F>
constexpr void for_each_crossing(forward_runs runs, F f) {
  f(phase::forward);
  if (runs == forward_runs::twice) f(phase::recompute);
  f(phase::backward);
}

}  // namespace step
}  // namespace ashlar::search
