// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The strategies of ZeRO (Rajbhandari et al., SC 2020). Without ZeRO, all ranks do the same update
// of a replicated parameter. With ZeRO, each rank updates a part of it:
//
//   stage   gradient    update   store   back
//   1, 2    P -> S(0)   S(0)     B       S(0) -> B once a step, after the update
//   3       P -> S(0)   S(0)     S(0)    S(0) -> B in each pass
//
// Stages 1 and 2 are one strategy here. In both, a rank keeps the sum of the whole gradient until
// the end of the backward pass, since the sum over the micro-batches is made before the sum over
// the ranks. In the paper, the two stages differ in when this memory is freed.
//
// In stages 1 and 2, a rank receives as many elements in P -> S(0) and S(0) -> B together as in one
// all-reduce. A parameter is divided along every axis that replicates it and does not split its
// gradient. Parameters without dims are not divided.

#include <ashlar/sync/strategies.hpp>

namespace ashlar::sync {

template <int Stage>
struct zero {
  static_assert(Stage >= 1 && Stage <= 3, "sync::zero<Stage>: the stages of ZeRO are 1, 2 and 3.");

  /// Returns the plan with this strategy for all parameters. Errors are those of changed_plan.
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> const& chosen,
                                             machine const& m) const {
    return changed_plan(
        "sync::zero", net, chosen, m, [&](search::parameter_choice& p, shape const& extents) {
          placement const whole = stored_as_used(p);
          placement const at = divided(whole, dividing_axes(p, extents, chosen.mesh));
          p.store = Stage == 3 ? at : whole;
          p.set_update(at);
        });
  }
};

}  // namespace ashlar::sync
