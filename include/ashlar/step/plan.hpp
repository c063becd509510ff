// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan gives a placement to every tensor of a chain of layers. The search makes a plan, a file
// stores it, and nn::place applies it. A plan has one layer_choice per element of the problem, in
// the same order.

#include <cstdint>
#include <limits>

#include <ashlar/plan/wire.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/support/fnv_hash.hpp>

namespace ashlar::search {
inline namespace step {

struct placement_move {
  placement from;
  placement to;
  friend constexpr bool operator==(placement_move const&, placement_move const&) = default;
};

/// The placements of one parameter. Its gradient moves from `grad` to `update`, where the optimizer
/// updates the parameter. If `update` is not `store`, the updated value then moves to `store`.
struct parameter_choice {
  placement use;    ///< placement at which the layer computes with the parameter
  placement grad;   ///< placement of its gradient after the backward pass, before synchronization
  placement store;  ///< placement of its value between two steps
  /// Placement of its synchronized gradient, of the optimizer's state, and of the value that the
  /// optimizer updates. A placement without axes means that these three are at `store`. So `update`
  /// itself is never equal to `store` (set_update).
  placement update{};
  /// Whether the gradient is kept as the rows that the step has read, and their indices
  /// (row_exchange.hpp). Otherwise it is a tensor of the parameter's extents.
  bool in_rows = false;
  /// The wire of the steps that synchronize its gradient (plan/encoded_redistribution.hpp).
  wire_format wire{};
  /// The number of steps by which its gradient is delayed: an update takes the gradient that was
  /// made this many steps earlier (step/README.md, "Delays"). 0 means no delay.
  int delay = 0;

  /// Returns whether the parameter is updated at one placement and stored at another.
  constexpr bool is_updated_apart() const { return update.axis.count > 0; }
  /// Returns the placement at which the parameter is updated.
  constexpr placement const& updated_at() const { return update.axis.count > 0 ? update : store; }
  /// Lets the parameter be updated at placement `at`.
  constexpr void set_update(placement const& at) { update = at == store ? placement{} : at; }
  friend constexpr bool operator==(parameter_choice const&, parameter_choice const&) = default;
};

/// Returns the placement at which a tied parameter, or its gradient, leaves for another part of a
/// mesh, if it lies at placement `at`. An owned tensor is replicated first; all others leave as
/// they are.
constexpr placement crosses_at(placement at) {
  for (auto& axis : at.axis)
    if (axis.is_owned()) axis = {};
  return at;
}

struct layer_choice {
  placement x, y, dy, dx;
  inplace_vector<parameter_choice, max_parameters> parameters;
  inplace_vector<placement_move, max_statistics> statistics;
  friend constexpr bool operator==(layer_choice const&, layer_choice const&) = default;
};

/// Returns the placements of a branch's turn (problem.hpp). They follow from the placements of the
/// branch's begin and end.
constexpr layer_choice turn_between(layer_choice const& begin, layer_choice const& end) {
  layer_choice turn;
  turn.x = end.x;
  turn.y = begin.y;
  turn.dy = begin.dy;
  turn.dx = end.dx;
  return turn;
}

/// The staleness of a plan whose gradients are synchronized in each step.
inline constexpr int synchronous = std::numeric_limits<int>::min();

template <int Capacity = dynamic_size>
struct basic_plan {
  topology mesh;
  shape input;  ///< extents of the first element's x, for one micro-batch
  sequence<layer_choice, Capacity> choices;
  int micro_batches = 1;
  int interleaved = 1;  ///< number of micro-batches that take turns (turns.hpp)
  int recomputed = 0;   ///< number of recomputed segments, from the first on (problem.hpp)
  /// The number of a training's first steps that send all gradients exactly, whatever their wires.
  /// `seconds` is predicted for the steps after these; `memory` is enough for all steps.
  int plain_steps = 0;
  /// A rank may read values that lack the gradients of other ranks from the last `staleness` steps
  /// (sync/update_clock.hpp). `synchronous` means that each step is synchronized.
  int staleness = synchronous;
  double seconds = 0;                ///< predicted seconds of one step
  double communication_seconds = 0;  ///< the part of `seconds` for communication
  std::int64_t memory = 0;           ///< predicted bytes per rank
  /// The fastest of the plans from which the search chose is at most this fraction faster than this
  /// plan. 0 means that this plan is optimal, 1 that no bound is known.
  double gap = 0;
  std::uint64_t problem_hash = 0;  ///< hash of the plan's problem

  constexpr int size() const { return length(choices); }
  constexpr layer_choice const& operator[](int i) const {
    if constexpr (Capacity == dynamic_size) return choices[static_cast<std::size_t>(i)];
    else return choices[i];
  }
};

using plan = basic_plan<>;

/// Returns whether test(choice) is true for the choice of any parameter of the plan.
template <int N, class Test>
constexpr bool any_parameter(basic_plan<N> const& chosen, Test const& test) {
  for (auto const& c : chosen.choices)
    for (auto const& p : c.parameters)
      if (test(p)) return true;
  return false;
}

/// Returns whether the ranks of a training push gradients to owners and read values from them, each
/// at its own pace, instead of synchronizing each step.
template <int N>
constexpr bool is_stale(basic_plan<N> const& chosen) {
  return chosen.staleness != synchronous;
}

/// Returns whether the plan updates any parameter at one placement and stores it at another.
template <int N>
constexpr bool updates_apart(basic_plan<N> const& chosen) {
  return any_parameter(chosen, [](parameter_choice const& p) { return p.is_updated_apart(); });
}

/// Returns whether the plan keeps the gradient of any table in rows (parameter_choice::in_rows).
template <int N>
constexpr bool has_rows(basic_plan<N> const& chosen) {
  return any_parameter(chosen, [](parameter_choice const& p) { return p.in_rows; });
}

/// Returns whether the gradient of any parameter is synchronized with a wire that is not exact.
template <int N>
constexpr bool has_wires(basic_plan<N> const& chosen) {
  return any_parameter(chosen, [](parameter_choice const& p) { return !p.wire.is_exact(); });
}

/// The largest delay of a gradient, in steps. Longer delays would only use memory.
inline constexpr int most_delay = 1000;

/// Returns whether the gradient of any parameter is delayed.
template <int N>
constexpr bool has_delays(basic_plan<N> const& chosen) {
  return any_parameter(chosen, [](parameter_choice const& p) { return p.delay != 0; });
}

/// Returns the plan without the delays of gradients.
template <int N>
constexpr basic_plan<N> without_delays(basic_plan<N> chosen) {
  for (auto& c : chosen.choices)
    for (auto& p : c.parameters) p.delay = 0;
  return chosen;
}

/// Returns the plan without wires, which a training uses for its plain steps.
template <int N>
constexpr basic_plan<N> without_wires(basic_plan<N> chosen) {
  for (auto& c : chosen.choices)
    for (auto& p : c.parameters) p.wire = {};
  chosen.plain_steps = 0;
  return chosen;
}

/// Returns whether step number `step` of a training, counted from 0, is a plain step: it has no
/// wires, but later steps have some.
template <int N>
constexpr bool is_plain_step(basic_plan<N> const& chosen, std::int64_t step) {
  return step < chosen.plain_steps && has_wires(chosen);
}

/// The error message for a plan in which a gradient has a wire with momentum, but which has no
/// plain steps.
inline constexpr char const* momentum_fault =
    "a wire with momentum begins after plain steps, in which AdamW averages the squares of "
    "gradients. Let plain_steps be 1 or more.";

/// The error message for a plan in which gradients are delayed and have wires after plain steps.
inline constexpr char const* delays_fault =
    "gradients are delayed, but those under way when plain steps end would be lost. Let "
    "plain_steps be 0, or delay no gradient.";

/// Returns what is wrong with the number of plain steps of a plan, or null if nothing is wrong.
template <int N>
constexpr char const* plain_steps_fault(basic_plan<N> const& chosen) {
  if (chosen.plain_steps < 0) return "plain_steps is below 0. Write 0 or more.";
  if (chosen.plain_steps == 0 &&
      any_parameter(chosen, [](parameter_choice const& p) { return p.wire.momentum; }))
    return momentum_fault;
  return is_plain_step(chosen, 0) && has_delays(chosen) ? delays_fault : nullptr;
}

/// Some elements of a plan take their placements from other elements: the end of a residual from
/// its begin, and the turn of a branch from the begin and the end of the branch. If element i is
/// such an element and does not have these placements, returns the begin of its residual or branch.
/// Otherwise returns -1. Expects that the begin and the end of a branch have their placements.
template <int N, int M>
constexpr int broken_joint(basic_problem<N> const& net, basic_plan<M> const& chosen, int i) {
  int const next = net[i].partner;
  if (net[i].kind == element_kind::residual_end) return chosen[i] == chosen[next] ? -1 : next;
  if (net[i].kind != element_kind::branch_turn) return -1;
  int const begin = net[next].partner;
  return chosen[i] == turn_between(chosen[begin], chosen[next]) ? -1 : begin;
}

/// Returns the same plan with another capacity, which must be at least its number of elements.
template <int To, int From>
constexpr basic_plan<To> with_capacity(basic_plan<From> const& p) {
  basic_plan<To> made;
  made.mesh = p.mesh;
  made.input = p.input;
  for (auto const& c : p.choices) made.choices.push_back(c);
  made.micro_batches = p.micro_batches;
  made.interleaved = p.interleaved;
  made.recomputed = p.recomputed;
  made.plain_steps = p.plain_steps;
  made.staleness = p.staleness;
  made.seconds = p.seconds;
  made.communication_seconds = p.communication_seconds;
  made.memory = p.memory;
  made.gap = p.gap;
  made.problem_hash = p.problem_hash;
  return made;
}

/// Returns a hash of a problem's names, extents, structure, element sizes and imbalance of experts.
/// A plan carries the hash of its problem.
template <int Capacity>
constexpr std::uint64_t hash(basic_problem<Capacity> const& p) {
  std::uint64_t h = empty_fnv;
  auto const mix = [&](std::uint64_t value) { h = fnv_with_bytes(h, value); };
  auto const mix_shape = [&](shape const& s) {
    mix(static_cast<std::uint64_t>(s.rank()));
    for (int d = 0; d < s.rank(); ++d) mix(static_cast<std::uint64_t>(s[d]));
    if (s.fullest != evenly_full) mix(static_cast<std::uint64_t>(s.fullest));
  };
  mix(static_cast<std::uint64_t>(p.size()));
  mix(static_cast<std::uint64_t>(p.element_size));
  if (p.accumulation_size != p.element_size) mix(static_cast<std::uint64_t>(p.accumulation_size));
  if (p.segments > 0) mix(static_cast<std::uint64_t>(p.segments));
  for (int i = 0; i < p.size(); ++i) {
    auto const& spec = p.spec(i);
    mix(static_cast<std::uint64_t>(p[i].kind));
    for (char const c : spec.name.text)
      if (c != '\0') mix(static_cast<std::uint64_t>(c));
    mix_shape(spec.x);
    mix_shape(spec.y);
    for (auto const& parameter : spec.parameters) mix_shape(parameter.extents);
    if (spec.context.rank() > 0) mix_shape(spec.context);
  }
  for (auto const& t : p.ties)
    for (int const k : {t.first, t.first_index, t.later, t.later_index})
      mix(static_cast<std::uint64_t>(k));
  return h;
}

/// Returns a hash of everything that a plan decides: placements, wires, delays, gradients in rows,
/// the numbers of recomputed segments, micro-batches, interleaved micro-batches and plain steps,
/// and the staleness. The hash distinguishes plans of the same problem.
template <int Capacity>
constexpr std::uint64_t fingerprint(basic_plan<Capacity> const& p) {
  std::uint64_t h = p.problem_hash;
  auto const mix = [&](int value) { h = fnv_with(h, static_cast<std::uint64_t>(value)); };
  auto const mix_placement = [&](placement const& it) {
    for (auto const& a : it.axis) {
      mix(static_cast<int>(a.kind));
      mix(a.dim);
      mix(a.depth);
      mix(static_cast<int>(a.op));
      if (a.is_owned()) mix(a.owner);
    }
  };
  for (int const count : {p.recomputed, p.micro_batches, p.interleaved}) mix(count);
  if (p.plain_steps != 0) mix(p.plain_steps);
  if (is_stale(p)) mix(~p.staleness);
  for (int i = 0; i < p.size(); ++i) {
    for (auto const* it : {&p[i].x, &p[i].y, &p[i].dy, &p[i].dx}) mix_placement(*it);
    for (auto const& parameter : p[i].parameters) {
      for (auto const* it :
           {&parameter.use, &parameter.grad, &parameter.updated_at(), &parameter.store})
        mix_placement(*it);
      if (auto const& w = parameter.wire; !w.is_exact())
        for (int const part : w.parts()) mix(part);
      if (parameter.delay != 0) mix(-parameter.delay);
    }
    for (int k = 0; k < p[i].parameters.size(); ++k)
      if (p[i].parameters[k].in_rows) mix(k + 1);
    for (auto const& statistic : p[i].statistics)
      for (auto const* it : {&statistic.from, &statistic.to}) mix_placement(*it);
  }
  return h;
}

}  // namespace step
}  // namespace ashlar::search
