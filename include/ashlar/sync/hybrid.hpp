// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Hybrid sharding: ZeRO along one axis of the mesh, usually the axis of the ranks of a node, and
// all-reduces along the other axes. So the values of parameters travel only along that one axis:
//
//   reads        gradient            update     store      back, along gpu
//   local        [P,P] -> [B,S(0)]   [B,S(0)]   [B,B]      [B,S(0)] -> [B,B] once a step
//   at use       [P,P] -> [B,S(0)]   [B,S(0)]   [B,S(0)]   [B,S(0)] -> [B,B] in each pass
//
// Three kinds of parameters are stored and updated as their layer reads them, as with all_reduce:
//
//   those that the layer reads split along this axis, as in tensor parallelism
//   those whose gradient is split along this axis
//   those without dims

#include <string_view>

#include <ashlar/sync/owners.hpp>
#include <ashlar/sync/strategies.hpp>

namespace ashlar::sync {

struct hybrid {
  std::string_view axis = "gpu";  ///< the name of the axis along which parameters are divided
  reads values = reads::local_copies;

  /// Returns the plan with this strategy for all parameters. Throws ashlar::error if the mesh has
  /// no such axis; other errors are those of changed_plan.
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> const& chosen,
                                             machine const& m) const {
    int const along = axis_of(chosen.mesh);
    return changed_plan("sync::hybrid", net, chosen, m,
                        [&](search::parameter_choice& p, shape const& extents) {
                          placement const whole = stored_as_used(p);
                          unsigned const axes = dividing_axes(p, extents, chosen.mesh);
                          placement const at = divided(whole, axes & (1u << along));
                          p.store = values == reads::at_use ? at : whole;
                          p.set_update(at);
                        });
  }

 private:
  constexpr int axis_of(topology const& t) const {
    for (int a = 0; a < t.axes(); ++a)
      if (t.axis[a].name.view() == axis) return a;
    std::string names;
    for (auto const& it : t.axis)
      names += (names.empty() ? "" : ", ") + std::string(it.name.view());
    throw error("sync::hybrid",
                "the mesh has no axis \"" + std::string(axis) + "\". Its axes are: " + names + ".");
  }
};

}  // namespace ashlar::sync
