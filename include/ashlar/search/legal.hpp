// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks whether a choice is a legal placement of its layer. The check serves plans that people
// write. There are seven rules:
//
//   rows      On every axis, the placements of all tensors form one row of the layer's signature.
//   order     The shards of all tensors nest in the same order of the axes.
//   blocks    No shard of x cuts a block that a rank must have whole (step::block_spec).
//   storage   Parameters may be stored and updated in any placements without P.
//   in rows   A gradient may be kept as the list of those rows that a step reads
//             (step/row_exchange.hpp). Then the layer must read the parameter by rows, the
//             parameter must be stored and updated where the layer reads it, and it must not be
//             tied.
//   wires     The numbers of a wire, the encoding in which a gradient is sent, are valid. If a wire
//             sends a gradient as two factors, the gradient's matrix has at least the rank of the
//             factors (wire_fault). A gradient in rows has no wire.
//   delays    A gradient is delayed by 0 to step::most_delay steps. A gradient in rows is not
//             delayed.
//
// choices.hpp lists the choices that obey these rules with common storage placements. This check
// does not enumerate that list.

#include <string>

#include <ashlar/plan/encoded_redistribution.hpp>
#include <ashlar/search/choices.hpp>

namespace ashlar::search {

namespace detail {

/// Returns whether row `r` has the placements of all tensors of choice `c` on axis `a`.
constexpr bool has_roles(layer_choice const& c, int a, training_row const& r) {
  bool same = same_role(c.x[a], r.x) && same_role(c.y[a], r.y) && same_role(c.dy[a], r.dy) &&
              same_role(c.dx[a], r.dx);
  for (int k = 0; k < c.parameters.size(); ++k)
    same = same && same_role(c.parameters[k].use[a], r.use[k]) &&
           same_role(c.parameters[k].grad[a], r.grad[k]);
  for (int k = 0; k < c.statistics.size(); ++k)
    same = same && same_role(c.statistics[k].from[a], r.stat[k].from) &&
           same_role(c.statistics[k].to[a], r.stat[k].to);
  return same;
}

}  // namespace detail

/// Returns why the gradient of a parameter cannot be kept in rows with these placements, or null if
/// it can (step/row_exchange.hpp).
constexpr char const* rows_fault(parameter_choice const& p, parameter_spec const& spec) {
  if (spec.rows_read == 0)
    return "its layer does not read it by rows. Only the gradients of embedding tables can be kept "
           "in rows.";
  if (spec.tie != tie_role::none)
    return "a tied parameter has no gradient in rows, since its other use reads all rows.";
  bool in_place = !p.is_updated_apart() && p.store == p.use;
  for (int a = 0; a < p.store.axes(); ++a)
    in_place = in_place &&
               (p.grad[a] == p.store[a] || (p.grad[a].is_partial() && p.store[a].is_broadcast()));
  return in_place ? nullptr
                  : "a parameter whose gradient is in rows must be stored and updated where its "
                    "layer reads it: let store and update equal use.";
}

/// Returns why a parameter cannot be stored and updated as chosen on the mesh, or null if it can.
constexpr char const* storage_fault(parameter_choice const& p, parameter_spec const& spec,
                                    topology const& t) {
  shape const& extents = spec.extents;
  if (char const* const wrong = check(p.store, extents.rank(), t)) return wrong;
  if (p.store.has_partial()) return "a parameter cannot be stored partial.";
  if (p.delay < 0 || p.delay > most_delay)
    return "a gradient is delayed by 0 to 1000 steps. Write a delay in this range.";
  if (p.in_rows && p.delay > 0)
    return "a gradient in rows is not delayed: leave out its delay, or keep it as a tensor.";
  if (p.in_rows && !p.wire.is_exact())
    return "a gradient in rows is not encoded: leave out its wire, or keep it as a tensor.";
  if (char const* const wrong = wire_fault(p.wire, extents, p.grad, t)) return wrong;
  if (p.in_rows) return rows_fault(p, spec);
  if (!p.is_updated_apart()) return nullptr;
  if (char const* const wrong = check(p.update, extents.rank(), t)) return wrong;
  if (p.update.has_partial())
    return "a parameter cannot be updated where its gradient is partial: write B, S(d) or O(k) for "
           "update on that axis.";
  if (p.update == p.store) return "update is the same as store: leave it out.";
  return nullptr;
}

/// Returns whether `c` is a legal placement of the layer on the mesh: whether it obeys the seven
/// rules at the head of this file.
constexpr bool is_legal(layer_choice const& c, layer_spec const& spec, topology const& t) {
  if (c.parameters.size() != spec.parameters.size() ||
      c.statistics.size() != spec.statistics.size() || !detail::is_valid(c, spec, t) ||
      !detail::keeps_blocks(c, spec, t))
    return false;
  for (int k = 0; k < c.parameters.size(); ++k) {
    if (storage_fault(c.parameters[k], spec.parameters[k], t) != nullptr) return false;
  }
  detail::axis_rows rows;
  detail::axis_order order = all_axes(t.axes());
  for (int a = 0; a < t.axes(); ++a) {
    int row = 0;
    while (row < spec.rows.size() && !detail::has_roles(c, a, spec.rows[row])) ++row;
    if (row == spec.rows.size()) return false;
    rows.push_back(row);
  }
  do {
    layer_choice candidate = detail::assemble_choice(spec, rows, order);
    for (int k = 0; k < c.parameters.size(); ++k) {
      candidate.parameters[k].store = c.parameters[k].store;
      candidate.parameters[k].update = c.parameters[k].update;
      candidate.parameters[k].wire = c.parameters[k].wire;
      candidate.parameters[k].in_rows = c.parameters[k].in_rows;
      candidate.parameters[k].delay = c.parameters[k].delay;
    }
    if (candidate == c) return true;
  } while (detail::next_order(order));
  return false;
}

/// Returns what is wrong with the placements of element i of a plan, as a sentence that names the
/// element, or an empty text if nothing is. Expects a plan of as many elements as the net.
template <int N>
std::string element_fault(basic_problem<N> const& net, basic_plan<N> const& chosen, int i) {
  std::string const element = "element " + std::to_string(i) + " (" + net.spec(i).name.text + ") ";
  bool const turns = net[i].kind == element_kind::branch_turn;
  if (!turns && !is_legal(chosen[i], net.spec(i), chosen.mesh))
    return element + "has a placement that its layer does not support.";
  if (broken_joint(net, chosen, i) >= 0)
    return element + "must have the placements of the element that begins its residual, or of the "
                     "ends of its branch.";
  return {};
}

}  // namespace ashlar::search
