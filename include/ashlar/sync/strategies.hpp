// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The strategies among which `optimal` chooses for one parameter. In the table, A is a set of mesh
// axes along which the ranks can share out the parameter's update (can_divide in changed_plan.hpp):
//
//   strategy                         update           store
//   all-reduce                       as used          as used
//   ZeRO-1, ZeRO-3 along A           S(0) along A     as used, or the same as update
//   owners: copies, or read at use   O along A        as used, or the same as update
//
// ZeRO is tried with every such set A, and owners are tried with the largest set. ZeRO along one of
// several axes is hybrid sharding. The axes of A divide dim 0 either in the order of the mesh or in
// the opposite order. On a mesh with two tiers of links, only one of these orders allows a
// reduction inside the nodes first.
//
// If wires are permitted, every strategy is also tried with each wire with which it can sum the
// gradient.
//
// Owners are listed as rank 0 of each axis, since all owners cost the same. The caller deals
// parameters out among them afterwards (deal_owners.hpp).

#include <vector>

#include <ashlar/sync/changed_plan.hpp>
#include <ashlar/sync/summing_wire.hpp>

namespace ashlar::sync {

/// Returns the axes along which the ranks can share out the update of a parameter that is stored as
/// its layer reads it: bit a is set for axis a. A parameter without dims, of rank 0, can neither be
/// split nor owned, so it has no such axes.
constexpr unsigned dividing_axes(search::parameter_choice const& p, shape const& extents,
                                 topology const& t) {
  placement const whole = stored_as_used(p);
  unsigned axes = 0;
  if (extents.rank() == 0) return axes;
  for (int a = 0; a < whole.axes(); ++a)
    if (can_divide(p, whole, t, a)) axes |= 1u << a;
  return axes;
}

/// The order in which several axes divide a dim: the first axis divides the dim, and each further
/// axis divides the shards that the axes before it have made.
enum class nesting : signed char { as_in_mesh, opposite };

/// Returns placement `whole` with dim 0 divided along a set of dividing_axes(), in which bit a
/// stands for axis a.
constexpr placement divided(placement whole, unsigned axes, nesting order = nesting::as_in_mesh) {
  int const n = whole.axes();
  for (int i = 0; i < n; ++i) {
    int const a = order == nesting::as_in_mesh ? i : n - 1 - i;
    if ((axes >> a & 1u) != 0) whole = whole.with_split(a, 0);
  }
  return whole;
}

/// The wires that `optimal` may choose, beside exact gradients.
using wire_list = inplace_vector<wire_format, 8>;
/// No wire: gradients are sent as they are.
inline constexpr wire_list lossless{};

/// Returns all strategies of a parameter with these extents: copies of `p` with other placements
/// `store` and `update`. Each one is listed without a wire, and then once with each format of
/// `wires` that can sum its gradient (sums_with). The first one is all-reduce. Communicates
/// nothing.
constexpr std::vector<search::parameter_choice> strategies(search::parameter_choice p,
                                                           shape const& extents, topology const& t,
                                                           wire_list const& wires = lossless) {
  placement const whole = stored_as_used(p);
  unsigned const all = dividing_axes(p, extents, t);
  std::vector<search::parameter_choice> list;
  p.store = whole;
  p.update = {};
  p.in_rows = false;
  p.wire = {};
  auto const list_all = [&] {
    list.push_back(p);
    for (auto const& wire : wires)
      if (sums_with(wire, p, extents, t)) {
        list.push_back(p);
        list.back().wire = wire;
      }
  };
  list_all();
  auto const add = [&](placement const& at) {
    for (bool const at_use : {false, true}) {
      p.store = at_use ? at : whole;
      p.set_update(at);
      list_all();
    }
  };
  for (unsigned axes = 1; axes <= all; ++axes) {
    if ((axes & ~all) != 0) continue;
    add(divided(whole, axes));
    if ((axes & (axes - 1)) != 0) add(divided(whole, axes, nesting::opposite));
  }
  if (all == 0) return list;
  placement owner = whole;
  for (int a = 0; a < whole.axes(); ++a)
    if ((all >> a & 1u) != 0) owner = owner.with(a, owned(0));
  add(owner);
  return list;
}

namespace detail {

/// Throws ashlar::error unless `chosen` is a plan of the net and its gradients can be sent in the
/// format `wire`.
template <int N>
constexpr void check_wire(char const* caller, search::basic_problem<N> const& net,
                          search::basic_plan<N> const& chosen, wire_format const& wire) {
  check_plan_of(caller, net, chosen);
  for (char const* const wrong : {number_fault(wire), element_fault(wire, net.accumulation_size)})
    if (wrong != nullptr) throw error(caller, to_string(wire) + ": " + wrong);
}

/// Throws ashlar::error unless all gradients of a plan can have the wires. The plan keeps its
/// number of plain steps and its delays. So a wire with momentum is refused if the plan has no
/// plain steps, and a wire other than exact if the plan has both plain steps and delays.
template <int N>
constexpr void check_wires(char const* caller, search::basic_problem<N> const& net,
                           search::basic_plan<N> const& chosen, wire_list const& wires) {
  for (auto const& wire : wires) {
    check_wire(caller, net, chosen, wire);
    if (wire.momentum && chosen.plain_steps == 0)
      throw error(caller, to_string(wire) + ": " + search::momentum_fault);
    if (!wire.is_exact() && chosen.plain_steps > 0 && has_delays(chosen))
      throw error(caller, to_string(wire) + ": " + search::delays_fault);
  }
}

}  // namespace detail
}  // namespace ashlar::sync
