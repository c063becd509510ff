// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan of a redistribution from one part of a mesh to another (plan/cross_mesh_plan.hpp), and the
// messages that this rank sends and receives in this plan. The messages are in the order in which
// they begin. cross_plan_cache.hpp keeps such plans.

#include <utility>
#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/plan/cross_mesh_plan.hpp>
#include <ashlar/plan/crossing_choice.hpp>
#if ASHLAR_DEFINES(COMM)
#include <ashlar/plan/crossing/transfers.hpp>
#endif

namespace ashlar {

struct prepared_crossing {
  cross_mesh_plan plan;
  std::vector<crossing_transfer> sends, receives;
  std::int64_t received = 0;  ///< elements that this rank receives
  crossing_choice choice{};   ///< the choice for which the plan was made
};

/// Returns the plan with the messages of rank `rank` of the mesh `whole`, which contains both
/// parts.
ASHLAR_INLINE prepared_crossing prepared_for(cross_mesh_plan plan, topology const& whole, int rank);

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE prepared_crossing prepared_for(cross_mesh_plan plan, topology const& whole,
                                             int rank) {
  prepared_crossing p{std::move(plan), {}, {}, 0, {}};
  for_each_transfer(
      p.plan.across, whole,
      [&](crossing_transfer const& t) { (t.from == rank ? p.sends : p.receives).push_back(t); },
      rank);
  for (auto const& t : p.receives) p.received += t.size;
  return p;
}
#endif

}  // namespace ashlar
