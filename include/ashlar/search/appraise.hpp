// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Rates a plan that does not come from a search (written by hand, or a baseline). Recomputes its
// predicted time and memory, and adds a lower bound and a gap.
//
//   search::appraise(net, search::megatron(net, t, m), m).gap
//
// The gap is the largest fraction of the plan's time that another plan can save. The bound holds
// for all plans on the same mesh that take their choices from choices.hpp. A plan from elsewhere
// may have other storage, or gradients that are encoded, in rows, delayed or owned by one rank. If
// such a plan is faster than the bound, no bound is known: the gap is 1. Plans on other meshes may
// be faster.

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/branch_limits.hpp>
#include <ashlar/search/lagrangian.hpp>
#include <ashlar/search/legal.hpp>

namespace ashlar::search {

/// Returns the plan with its predictions, a lower bound and the gap. The options `permits`,
/// `whole_space` and `lower_bound` affect the bound. `on_progress` is called. All other options
/// have no effect. Throws ashlar::error in these cases:
/// - `chosen` is not a plan of `net`, or a layer does not support its placement.
/// - `net` has branches.
/// - The plan needs more than m.memory bytes per rank.
/// - The options have no bound, and the mesh has more than four axes or `net` has a tied parameter
///   without prescribed storage.
template <int N>
basic_result<N> appraise(basic_problem<N> const& net, basic_plan<N> chosen, machine const& m,
                         options const& o = {}) {
  auto const refuse = [](std::string const& what) { throw error("search::appraise", what); };
  if (chosen.size() != net.size())
    refuse("the plan has " + std::to_string(chosen.size()) + " elements, but the net has " +
           std::to_string(net.size()) + ". Give a plan of this net.");
  for (int i = 0; i < net.size(); ++i)
    if (auto const fault = element_fault(net, chosen, i); !fault.empty()) refuse(fault);
  detail::demand_no_branches(net, "search::appraise");
  detail::watch run("appraise", o);
  predict(chosen, net, m);
  if (m.memory > 0 && chosen.memory > m.memory)
    refuse("the plan needs " + bytes_text(double(chosen.memory)) + " per rank, more than the " +
           bytes_text(double(m.memory)) + " of the machine.");
  run.improves(chosen.seconds);
  run.bound_by([&] {
    // With a memory limit, a plan may recompute any number of segments. The bound must hold for all
    // of these numbers.
    recomputation const again{net.recomputed, m.memory > 0 && net.segments > net.recomputed
                                                  ? net.segments
                                                  : net.recomputed};
    chain_model<N> model = detail::model_of(net, chosen.mesh, m, o, again);
    return detail::lower_bound(model, m.memory);
  });
  if (run.lower_bound() > chosen.seconds * (1 + detail::tie_margin)) run.drop_bound();
  return run.finish(static_cast<basic_plan<N>&&>(chosen));
}

}  // namespace ashlar::search
