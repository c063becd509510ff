// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the cost of a plan that runs in pipeline stages: its schedule is replayed
// (step/pipeline/replay.hpp) with the seconds of its stages (stage_model.hpp). Transfers between
// stages run while the stages compute. When the last pass of a part has ended, the part
// synchronizes its gradients. A step ends when all parts have done so:
//
//   T = max over the parts of ( end of its last pass + synchronization of its stages )
//
// The busiest part is the one whose passes and synchronization take longest. The bubble is the rest
// of T on this part. The memory follows from the order of passes (pipeline_memory.hpp). With one
// stage, T and memory equal those of a plan without stages.
//
// At a boundary between parts, the activation and its gradient cross from a placement on one part
// to a placement on the other part, as crossing_prices.hpp plans. The input of a skip between
// stages and its gradient cross in the same way.
//
// Recomputed segments run forward again as part of the backward pass. If the first segment of a
// stage is recomputed, the stage holds its received input, so that no input is sent twice.

#include <utility>

#include <ashlar/search/stage_model.hpp>
#include <ashlar/step/pipeline/replay.hpp>

namespace ashlar::search {

/// Returns the mesh of one part if axis number `axis` of mesh t is divided into `parts` equal
/// parts. If `axis` is -1, there is only one part, and the result is t.
inline topology stage_mesh(topology t, int axis, int parts) {
  if (axis >= 0) t.axis[axis].extent /= parts;
  return t;
}

/// Returns the seconds of a step with this order of passes, or a negative number if the order
/// cannot run. `skips` are the skips between stages.
inline double seconds_of_step(pipelines::schedule const& order,
                              pipelines::pipeline_costs const& costs,
                              std::vector<pipeline_stage> const& stages,
                              pipelines::skip_transfers const& skips) {
  auto const ends = pipelines::ends_of(order, costs, skips);
  double last = -1;
  for (std::size_t p = 0; p < ends.size(); ++p) {
    double end = ends[p];
    for (int c = 0; c < order.chunks; ++c)
      end += stages[static_cast<std::size_t>(order.stage_of(static_cast<int>(p), c))].synchronize;
    last = std::max(last, end);
  }
  return last;
}

/// Fills in the predicted seconds and memory of a pipeline from those of its stages. Throws
/// ashlar::error if its schedule cannot run.
inline void predict(pipeline_plan& p) {
  auto const order = schedule_of(p);
  auto costs = costs_of(p);
  double const m = p.micro_batches();
  auto skips = p.skips;
  p.chosen.seconds = seconds_of_step(order, costs, p.stages, skips);
  if (p.chosen.seconds < 0)
    throw error("search::price_pipeline",
                "the schedule cannot run: its parts wait for each other. pipelines::fault_of says "
                "where.");
  for (auto& c : costs) c.send_forward = c.send_backward = 0;
  for (auto& k : skips) k.forward = k.backward = 0;
  p.exposed = std::max(0., p.chosen.seconds - seconds_of_step(order, costs, p.stages, skips));
  double most = -1, work = 0;
  p.chosen.memory = 0;
  for (int part = 0; part < order.positions; ++part) {
    double busy = 0, own = 0;
    for (int c = 0; c < order.chunks; ++c) {
      auto const& s = p.stages[static_cast<std::size_t>(order.stage_of(part, c))];
      busy += m * s.seconds + s.synchronize;
      own += m * s.work;
      p.chosen.memory = std::max(p.chosen.memory, s.memory);
    }
    if (busy > most) most = busy, work = own;
  }
  p.chosen.communication_seconds = most - work;
  p.bubble = std::max(0., p.chosen.seconds - most);
}

/// Returns the pipeline that runs the plan `chosen`, with its predicted costs. `lower_bound` stays
/// 0.
///   chosen       the placements of all elements on the mesh of one part; `recomputed` is ignored
///   limits       stage s runs the elements limits[s] .. limits[s + 1] - 1
///   recomputed   stage s recomputes its first recomputed[s] segments
///   axis         the axis of the whole mesh that the parts divide; -1: one part
///   order        the order of passes, for these micro-batches and stages; empty: 1F1B
/// Throws ashlar::error if the order has other numbers of stages or micro-batches, or cannot run.
template <int N>
pipeline_plan price_pipeline(basic_problem<N> const& net, basic_plan<N> const& chosen,
                             std::vector<int> const& limits, std::vector<int> const& recomputed,
                             int axis, int micro_batches, machine const& m,
                             pipelines::schedule order = {}) {
  pipeline_plan result;
  result.axis = axis;
  result.order = std::move(order);
  result.chosen.mesh = chosen.mesh;
  result.chosen.input = net.size() > 0 ? net.spec(0).x : shape{};
  result.chosen.choices.assign(chosen.choices.begin(), chosen.choices.end());
  result.chosen.micro_batches = micro_batches;
  result.chosen.plain_steps = chosen.plain_steps;
  result.chosen.staleness = chosen.staleness;  // nn::place refuses stale plans with stages
  result.chosen.problem_hash = hash(net);
  result.stages.resize(limits.size() - 1);
  auto const& own = result.order;
  if (!own.order.empty() && (own.stages() != static_cast<int>(result.stages.size()) ||
                             own.micro_batches != micro_batches))
    throw error("search::price_pipeline", "the schedule is for " + std::to_string(own.stages()) +
                                              " stages and " + std::to_string(own.micro_batches) +
                                              " micro-batches, not for " +
                                              std::to_string(result.stages.size()) + " and " +
                                              std::to_string(micro_batches) + ".");
  auto const chain = in_stages(net, limits, recomputed);
  basic_plan<N> whole = chosen;
  whole.recomputed = result.chosen.recomputed = chain.recomputed;
  crossing_prices crossings(chosen.mesh, axis, m);
  stage_model<N> model(chain, whole, m, crossings);
  result.stages = priced_stages(model, limits, schedule_of(result));
  result.skips = model.skips(limits, schedule_of(result));
  for (std::size_t s = 0; s < result.stages.size(); ++s)
    result.stages[s].recomputed = recomputed[s];
  predict(result);
  return result;
}

}  // namespace ashlar::search
