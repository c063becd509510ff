// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the cost of a plan that runs in s pipeline stages. The schedule is 1F1B (one forward,
// one backward); communication and computation do not overlap. Let u_j be the seconds that stage j
// needs for both passes of one micro-batch, including its sends to other stages. Let g_j be the
// seconds that stage j needs to synchronize its gradients. A step of m micro-batches takes
//
//   T  =  Σ u_j + (m - 1) max u_j + max g_j          with a bubble of T - m max u_j - max g_j
//
// Stage j holds the values that its micro-batches in flight save for the backward pass. With one
// stage, T equals the cost of a plan without stages (defined in step/problem.hpp).
//
// At a boundary between stages, each rank sends its shard to the rank at the same position in the
// other stage. If the placements on the two sides differ, the receiving stage also redistributes.
// The send is then priced for the placement with the smaller shards.
//
// Recomputed segments run forward again as part of the backward pass. If the first segment of a
// stage is recomputed, the stage holds its received input, so that no input is sent twice.

#include <ashlar/search/cost.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/search/tabulated_moves.hpp>

namespace ashlar::search {

/// Returns the mesh of one stage, if `stages` stages divide the axis `axis` of `t` (-1: one stage).
inline topology stage_mesh(topology t, int axis, int stages) {
  if (axis >= 0) t.axis[axis].extent /= stages;
  return t;
}

/// Returns the pipeline that runs the plan `chosen`, with its predicted costs. `lower_bound` stays
/// 0.
///   chosen       the placements of all elements on the mesh of one stage; `recomputed` is ignored
///   limits       stage s runs the elements limits[s] .. limits[s + 1] - 1
///   recomputed   stage s recomputes its first recomputed[s] segments
///   axis         the axis of the whole mesh that the stages divide; -1: one stage
template <int N>
pipeline_plan price_pipeline(basic_problem<N> const& net, basic_plan<N> const& chosen,
                             std::vector<int> const& limits, std::vector<int> const& recomputed,
                             int axis, int micro_batches, machine const& m) {
  topology const& t = chosen.mesh;
  tabulated_moves paths(t, m);
  int const stages = static_cast<int>(limits.size()) - 1;
  pipeline_plan result;
  result.axis = axis;
  result.chosen.mesh = t;
  result.chosen.input = net.size() > 0 ? net.spec(0).x : shape{};
  result.chosen.choices.assign(chosen.choices.begin(), chosen.choices.end());
  result.chosen.micro_batches = micro_batches;
  result.chosen.problem_hash = hash(net);
  result.stages.resize(static_cast<std::size_t>(stages));
  for (std::size_t s = 0; s < result.stages.size(); ++s) {
    result.stages[s].first = limits[s];
    result.stages[s].last = limits[s + 1];
    result.stages[s].recomputed = recomputed[s];
    result.chosen.recomputed += recomputed[s];
  }
  auto const chain = chain_of(net, result);
  auto const flights = pipelines::in_flight(schedule_of(result));
  for (int j = 0; j < stages; ++j) {
    auto& stage = result.stages[static_cast<std::size_t>(j)];
    stage.memory = memory_per_rank(
        stage_of(chain, stage.first, stage.last, flights[std::size_t(j)].held),
        plan_of_stage<N>(result, j));
  }
  basic_plan<N> whole = chosen;
  whole.recomputed = chain.recomputed;
  link const between = axis < 0
                           ? link{}
                           : group_link(m, whole_mesh(result), {static_cast<signed char>(axis)},
                                        collective::all_gather);
  auto const stage_at = [&](int element) -> pipeline_stage& {
    return *std::find_if(result.stages.begin(), result.stages.end(),
                         [&](auto const& s) { return element < s.last; });
  };
  auto const send = [&](pipeline_stage& from_stage, bool forward, shape const& extents,
                        placement const& from, placement const& to) {
    std::int64_t const elements = std::min(max_local_elements(extents, t, from),
                                           max_local_elements(extents, t, to));
    double const seconds = ashlar::seconds(between, traffic{1, elements}, net.element_size);
    from_stage.sent += elements * net.element_size;
    from_stage.sending += seconds;
    if (forward) from_stage.forward += seconds;
  };
  for_each_price(chain, whole, paths,
                 [&](int element, phase when, spent what, move_price const& price) {
                   auto& stage = stage_at(element);
                   (when == phase::synchronize ? stage.synchronize
                    : what == spent::work      ? stage.work
                                               : stage.seconds) += price.seconds;
                   if (when == phase::forward) stage.forward += price.seconds;
                 });
  for (int j = 1; j < stages; ++j) {
    int const first = limits[static_cast<std::size_t>(j)];
    shape const& extents = boundary_extents(chain, first - 1);
    send(stage_at(first - 1), true, extents, whole[first - 1].y, whole[first].x);
    send(stage_at(first), false, extents, whole[first].dx, whole[first - 1].dy);
  }
  double sum = 0, most = 0, work = 0, synchronize = 0;  // `work`: of the slowest stage
  std::int64_t memory = 0;
  for (auto& stage : result.stages) {
    stage.seconds += stage.work + stage.sending;
    sum += stage.seconds;
    if (stage.seconds > most) most = stage.seconds, work = stage.work;
    synchronize = std::max(synchronize, stage.synchronize);
    memory = std::max(memory, stage.memory);
  }
  result.chosen.seconds = sum + (micro_batches - 1) * most + synchronize;
  result.chosen.communication_seconds = micro_batches * (most - work) + synchronize;
  result.bubble = sum - most;
  result.chosen.memory = memory;
  return result;
}

}  // namespace ashlar::search
