// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Adds values, redistributions and crossings to a program. The program builder decides which ones
// (program_builder.hpp).

#include <ashlar/machine/machine.hpp>
#include <ashlar/plan/encoded_redistribution.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

/// The tensors of one element of the layer chain in one micro-batch, as indices into
/// program::values. -1 means that there is no such tensor. `input` is the input x of a recomputed
/// segment that begins with this element. `arrived` is for an element that joins two tensors: it is
/// the first of them, if another part of the mesh has sent it (skips) or the turn has handed it on
/// (branches).
struct element_tensors {
  int y = -1, dx = -1, skipped = -1, saved = -1, dy = -1, input = -1, arrived = -1;
};
/// The parameters of one element, their gradient sums, their gradients, and their masters, as
/// indices into program::values. -1 means that there is no such value. `due` is what a step
/// synchronizes: the sum, or the pending sum if the gradient is delayed.
struct element_parameters {
  inplace_vector<int, max_parameters> stored, sum, due, gradient, master;
};

/// Returns the kind of the value that a redistribution makes in a phase.
constexpr value_kind result_of(phase when, moved what) {
  switch (what) {
    case moved::activation: return value_kind::x;
    case moved::gradient: return value_kind::dy;
    case moved::statistic: return value_kind::reduced;
    case moved::parameter: break;
  }
  return when == phase::synchronize ? value_kind::gradient
         : when == phase::renew     ? value_kind::renewed
                                    : value_kind::used;
}

class program_writer {
 public:
  constexpr program_writer(topology const& mesh, machine const& m) : machine_(m) {
    made_.mesh = mesh;
  }

  /// Adds the end of a send or a receive.
  constexpr void end_crossing(int index) {
    bool const is_send = made_.crossings[static_cast<std::size_t>(index)].is_send;
    add_crossing_action(is_send ? action_kind::end_send : action_kind::end_receive, index);
  }
  constexpr cross_mesh_plan const& crossing_plan(int index) const {
    return made_.crossing_plans[static_cast<std::size_t>(index)];
  }
  /// Adds a plan to program::crossing_plans and returns its index.
  constexpr int add_crossing_plan(cross_mesh_plan plan) {
    made_.crossing_plans.push_back(static_cast<cross_mesh_plan&&>(plan));
    return static_cast<int>(made_.crossing_plans.size()) - 1;
  }

 protected:
  /// Adds a value and returns its index in program::values.
  constexpr int add_value(value const& v) {
    made_.values.push_back(v);
    return static_cast<int>(made_.values.size()) - 1;
  }
  /// Returns the bytes of the largest shard of a tensor.
  constexpr std::int64_t bytes_of(shape const& extents, placement const& p, int size) const {
    return max_local_elements(extents, made_.mesh, p) * size;
  }

  /// Adds an action that runs once per step, for parameter k of element i: it reads the gradient
  /// and adds to value `to`.
  constexpr void add_once(action_kind kind, int i, int k, int gradient, int to) {
    action a{.kind = kind, .phase = phase::synchronize, .element = i, .part = k};
    a.reads.push_back(gradient);
    a.adds.push_back(to);
    made_.actions.push_back(a);
  }

  /// Adds the exchange of rows that makes the gradient of parameter k of element i from the value
  /// `sum`. Returns the index of the gradient.
  constexpr int add_row_exchange(row_exchange const& rows, int element_size, int i, int k,
                                 int sum) {
    auto const price = price_of_rows(rows, element_size, made_.mesh, machine_);
    action a{.kind = action_kind::exchange_rows,
             .phase = phase::synchronize,
             .element = i,
             .part = k,
             .workspace = rows.exchange_bytes(element_size)};
    a.rows = static_cast<int>(made_.row_exchanges.size());
    a.rows_seconds = price.seconds;
    a.rows_bytes = price.bytes;
    a.reads.push_back(sum);
    a.makes.push_back(
        add_value({value_kind::gradient, i, k, 0, false, rows.all_bytes(element_size)}));
    made_.row_exchanges.push_back(rows);
    made_.actions.push_back(a);
    return a.makes[0];
  }

  /// Returns the index of a redistribution's plan in program::paths. Adds the plan if it is new.
  constexpr int path_of(shape const& extents, int size, placement const& from, placement const& to,
                        wire_format const& wire) {
    for (std::size_t i = 0; i < made_.paths.size(); ++i) {
      auto const& p = made_.paths[i];
      if (p.extents == extents && p.element_size == size && p.from == from && p.to == to &&
          p.wire == wire)
        return static_cast<int>(i);
    }
    made_.paths.push_back(plan_encoded(extents, size, from, to, wire, made_.mesh, machine_));
    return static_cast<int>(made_.paths.size()) - 1;
  }
  /// Adds the two actions of a redistribution, its begin and its end. Returns the result of the
  /// redistribution, a new value of kind `kind`.
  constexpr int add_actions_of(program_move m, value_kind kind, shape const& extents, int size,
                               placement const& from, placement const& to,
                               wire_format const& wire = {}) {
    m.path = path_of(extents, size, from, to, wire);
    m.to = add_value({kind, m.element, m.index, m.micro_batch, m.phase == phase::recompute,
                      bytes_of(extents, to, size)});
    action a{.kind = action_kind::begin_move,
             .phase = m.phase,
             .element = m.element,
             .part = m.index,
             .micro_batch = m.micro_batch,
             .move = static_cast<int>(made_.moves.size())};
    a.reads.push_back(m.from);
    made_.actions.push_back(a);
    a.kind = action_kind::end_move;
    a.reads = {};
    a.makes.push_back(m.to);
    made_.actions.push_back(a);
    made_.moves.push_back(m);
    return m.to;
  }

  /// Adds a send or a receive, and the action with which it begins. Returns its index in
  /// program::crossings.
  constexpr int begin_crossing(program_crossing const& c) {
    made_.crossings.push_back(c);
    int const index = static_cast<int>(made_.crossings.size()) - 1;
    add_crossing_action(c.is_send ? action_kind::begin_send : action_kind::begin_receive, index);
    return index;
  }

  machine const& machine_;
  program made_;

 private:
  constexpr void add_crossing_action(action_kind kind, int index) {
    auto const& c = made_.crossings[static_cast<std::size_t>(index)];
    action a{.kind = kind,
             .phase = c.phase,
             .element = c.element,
             .micro_batch = c.micro_batch,
             .crossing = index};
    if (c.is_send) a.reads.push_back(c.value);
    if (kind == action_kind::end_receive) a.makes.push_back(c.value);
    made_.actions.push_back(a);
  }
};

}  // namespace step_detail

}  // namespace step
}  // namespace ashlar::search
