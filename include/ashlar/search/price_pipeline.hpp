// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a plan costs when its chain runs in pipeline stages. The schedule is 1F1B, nothing
// overlapped. u_j: seconds of stage j for one micro-batch, both passes, with what it sends to its
// neighbours; g_j: its synchronization of gradients. A step of m micro-batches takes
//
//   T  =  Σ u_j + (m - 1) max u_j + max g_j          of which the bubble is T - m max u_j - max g_j
//
// and stage j keeps what min(m, s - j) micro-batches save for the backward pass. With one stage this
// is the cost of problem.hpp. A boundary is redistributed on the stage that receives; then its
// shards cross, as they lie on the side where they are smaller, between ranks of equal position.

#include <ashlar/search/cost.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/search/planner.hpp>

namespace ashlar::search {

/// The mesh of one of `stages` stages that divide an axis of `t` (-1: one stage).
inline topology stage_mesh(topology t, int axis, int stages) {
  if (axis >= 0) t.axis[axis].extent /= stages;
  return t;
}

/// The pipeline that runs `chosen`, a plan of all elements on the mesh of one stage: stages begin at
/// the elements `limits`, whose last entry is the end of the chain, and divide `axis` of that mesh
/// times their number. `lower_bound` is left 0.
template <int N>
pipeline_plan price_pipeline(basic_problem<N> const& net, basic_plan<N> const& chosen,
                             std::vector<int> const& limits, int axis, int micro_batches,
                             machine const& m) {
  topology const& t = chosen.mesh;
  planner paths(t, m);
  int const stages = static_cast<int>(limits.size()) - 1;
  pipeline_plan result;
  result.axis = axis;
  for (int s = 0; s < stages; ++s) {
    pipeline_stage stage;
    stage.first = limits[static_cast<std::size_t>(s)];
    stage.last = limits[static_cast<std::size_t>(s) + 1];
    std::int64_t kept = 0, gathered = 0;
    for (int i = stage.first; i < stage.last; ++i) {
      layer_spec spec = net.spec(i);
      stage.work += work_seconds(spec, chosen[i], t, m, net.element_size);
      auto const halo = halo_seconds(spec, chosen[i], t, m, net.element_size);
      stage.seconds += halo.seconds();
      stage.forward += halo.forward;
      spec.saved_values *= std::min(micro_batches, stages - s);
      auto const bytes = memory_of(net, spec, chosen[i], t);
      kept += bytes.kept;
      gathered = std::max(gathered, bytes.gathered);
      spec.backward_flops = spec.backward_values = 0;
      stage.forward += work_seconds(spec, chosen[i], t, m, net.element_size);
    }
    stage.memory = kept + gathered;
    result.stages.push_back(stage);
  }
  result.chosen.mesh = t;
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
  detail::for_each_move(
      net, chosen,
      [&](phase when, int element, moved what, int, shape const& extents, placement const& from,
          placement const& to) {
        auto& stage = stage_at(element);
        double const seconds =
            from == to ? 0 : paths.move(extents, element_size(net, what, when), from, to).seconds;
        (when == phase::synchronize ? stage.synchronize : stage.seconds) += seconds;
        if (when == phase::forward) stage.forward += seconds;
        if (what == moved::activation && element == stage.first && element > 0)
          send(stage_at(element - 1), true, extents, from, to);
        if (what == moved::gradient && element + 1 == stage.last)
          send(stage_at(element + 1), false, extents, from, to);
      });
  double sum = 0, most = 0, work = 0, synchronize = 0;  // work: of the slowest stage
  std::int64_t memory = 0;
  for (auto& stage : result.stages) {
    stage.seconds += stage.work + stage.sending;
    sum += stage.seconds;
    if (stage.seconds > most) most = stage.seconds, work = stage.work;
    synchronize = std::max(synchronize, stage.synchronize);
    memory = std::max(memory, stage.memory);
  }
  result.chosen.input = net.size() > 0 ? net.spec(0).x : shape{};
  result.chosen.choices.assign(chosen.choices.begin(), chosen.choices.end());
  result.chosen.micro_batches = micro_batches;
  result.chosen.problem_hash = hash(net);
  result.chosen.seconds = sum + (micro_batches - 1) * most + synchronize;
  result.chosen.communication_seconds = micro_batches * (most - work) + synchronize;
  result.bubble = sum - most;
  result.chosen.memory = memory;
  return result;
}

}  // namespace ashlar::search
