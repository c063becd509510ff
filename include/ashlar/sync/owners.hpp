// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Parameter servers: each parameter has one owner, a rank that sums up its gradients and updates
// it.
//
//   reads         gradient       update   store   back
//   local copies  P -> O(k)      O(k)     B       O(k) -> B once a step, after the update
//   at use        P -> O(k)      O(k)     O(k)    O(k) -> B in each pass
//
// On several axes an owner has one coordinate along each axis: [P,P] -> [O(i),O(j)]. The gradient
// goes to the owner along one axis after the other, and the value comes back in the same way. The
// planner of redistributions chooses the order of the axes, and all orders have the same price. So
// a plan cannot demand that gradients are first summed on one rank of each node.
//
// A parameter is owned along every axis that replicates it and does not split its gradient. A
// parameter without dims has no owner: all ranks update it. Parameters are dealt out so that the
// busiest rank owns few elements (deal_owners.hpp). For few parameters the dealing is optimal.
// `balance_of` states how good the dealing of a plan is. With dealing::one_rank, rank 0 of each
// axis owns all, as with a single parameter server.
//
// With a staleness, each rank pushes gradients and reads values at its own pace.
// sync/update_clock.hpp says which gradients these values contain. A staleness of 0 gives the bits
// of synchronous training.
//
// The predicted memory counts each parameter as if the busiest rank owned it (step/memory.hpp), so
// the prediction is an upper bound.

#include <algorithm>
#include <vector>

#include <ashlar/step/letter_bytes.hpp>
#include <ashlar/step/staleness.hpp>
#include <ashlar/sync/deal_owners.hpp>
#include <ashlar/sync/strategies.hpp>

namespace ashlar::sync {

/// How a rank reads parameters that other ranks update: from local copies, which are renewed once a
/// step, or from the other ranks in each pass.
enum class reads : signed char { local_copies, at_use };

/// Whether parameters are dealt out evenly or all have the same owner.
enum class dealing : signed char { balanced, one_rank };

/// Returns the parameters of a plan for which is_owned(placements, extents) returns true, in the
/// order of the net, in the form that deal_owners needs. Leaves out the later uses of tied
/// parameters.
template <int N, class Owned>
constexpr std::vector<ownable> ownables(search::basic_problem<N> const& net,
                                        search::basic_plan<N> const& chosen, Owned is_owned) {
  std::vector<ownable> list;
  for (int i = 0; i < net.size(); ++i)
    for (int k = 0; k < chosen[i].parameters.size(); ++k) {
      auto const& spec = net.spec(i).parameters[k];
      auto const& p = chosen[i].parameters[k];
      if (spec.tie != search::tie_role::later && is_owned(p, spec.extents))
        list.push_back(
            {spec.extents, stored_as_used(p), dividing_axes(p, spec.extents, chosen.mesh)});
    }
  return list;
}

struct owners {
  reads values = reads::local_copies;
  dealing among = dealing::balanced;
  int staleness = search::synchronous;

  /// Returns the plan with this strategy for all parameters. Throws ashlar::error if no training
  /// can run with this staleness (step/staleness.hpp); other errors are those of changed_plan.
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> const& chosen,
                                             machine const& m) const {
    check_plan_of("sync::owners", net, chosen);
    auto const can_own = [&](search::parameter_choice const& p, shape const& extents) {
      return dividing_axes(p, extents, chosen.mesh) != 0;
    };
    auto const list = ownables(net, chosen, can_own);
    dealt_owners dealt;
    if (among == dealing::balanced) dealt = deal_owners(list, chosen.mesh);
    else
      for (auto const& p : list) dealt.at.push_back(detail::owned_by(p, chosen.mesh, 0));
    std::size_t next = 0;
    auto made = changed_plan("sync::owners", net, chosen, m,
                             [&](search::parameter_choice& p, shape const& extents) {
                               placement const whole = stored_as_used(p);
                               placement const at = can_own(p, extents) ? dealt.at[next++] : whole;
                               p.store = values == reads::at_use ? at : whole;
                               p.set_update(at);
                             });
    if (staleness == search::synchronous) return made;
    made.staleness = staleness;
    if (char const* const wrong = search::staleness_fault(net, made, m))
      throw error("sync::owners", wrong);
    made.memory += search::letter_bytes(net, made);
    return made;
  }
};

/// Returns how evenly a plan deals out the elements of owned parameters to the owners. Expects a
/// plan of this problem. Communicates nothing.
template <int N>
constexpr owner_balance balance_of(search::basic_problem<N> const& net,
                                   search::basic_plan<N> const& chosen) {
  auto const& t = chosen.mesh;
  auto const is_owned = [](search::parameter_choice const& p, shape const&) {
    return p.updated_at().has_owned();
  };
  std::vector<std::int64_t> load(static_cast<std::size_t>(t.ranks()), 0);
  for (int i = 0; i < net.size(); ++i)
    for (int k = 0; k < chosen[i].parameters.size(); ++k) {
      auto const& spec = net.spec(i).parameters[k];
      auto const& at = chosen[i].parameters[k].updated_at();
      if (spec.tie == search::tie_role::later || !at.has_owned()) continue;
      for (int r = 0; r < t.ranks(); ++r)
        load[static_cast<std::size_t>(r)] +=
            local_box(spec.extents, t, at, t.coordinates_of(r)).elements();
    }
  return {*std::max_element(load.begin(), load.end()),
          deal_owners(ownables(net, chosen, is_owned), t).bound};
}

}  // namespace ashlar::sync
