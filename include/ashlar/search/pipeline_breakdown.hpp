// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Where the seconds and bytes of a plan in pipeline stages go, element by element, as breakdown.hpp has
// it for a plan: seconds and bytes of a step on the busiest rank of the stage that has the element,
// redistributions between stages included, sends not; memory with all micro-batches in flight there.
// And what recomputing does to all of it, against the same placements with everything kept.

#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/search/recomputed.hpp>

namespace ashlar::search {

/// The breakdown of a pipeline's cost on machine `m`; its total is of no rank, for a rank is in one
/// stage only. Expects a pipeline of this problem.
template <int N>
plan_breakdown breakdown(basic_problem<N> const& net, pipeline_plan const& p, machine const& m) {
  auto const chain = chain_of(net, p);
  auto parts = breakdown(chain, p.chosen, m);
  for (int j = 0; j < static_cast<int>(p.stages.size()); ++j) {
    auto const stage = stage_of(chain, p, j);
    auto const own = plan_of_stage<N>(p, j);
    int const first = p.stages[static_cast<std::size_t>(j)].first;
    int const moment = fullest_moment(stage, own);
    for (int i = 0; i < stage.size(); ++i)
      parts.elements[static_cast<std::size_t>(first + i)].memory = memory_of(stage, own, i, moment);
  }
  return parts;
}

/// The same for all stages; memory of the fullest.
template <int N>
recomputation_effect effect_of_recomputing(basic_problem<N> const& net, pipeline_plan const& p,
                                           machine const& m) {
  auto const kept = price_pipeline(net, p.chosen, limits_of(p),
                                   std::vector<int>(p.stages.size(), 0), p.axis, p.micro_batches(),
                                   m);
  double const longer = p.seconds() - kept.seconds();
  return {kept.chosen.memory - p.chosen.memory, longer,
          kept.seconds() > 0 ? longer / kept.seconds() : 0};
}

}  // namespace ashlar::search
