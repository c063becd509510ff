// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a plan with pipeline stages. search::pipeline finds it, a plan file stores it, and
// explain prints it. Equal parts of the mesh stand in a row along one axis. Each stage has a
// contiguous range of the elements of the chain and runs on one part. A part holds one stage, or
// several (the chunks of its schedule).
//
//   chosen.mesh       the mesh of one part. On `axis`, it has the extent of the whole mesh divided
//                     by the number of parts
//   whole_mesh(p)     the mesh of all ranks
//   schedule_of(p)    the order of passes: the plan's own, or 1F1B if it has none
//   in_flight(j)      the maximum number of micro-batches that stage j has begun but not finished:
//                     min(m, s - j) for m micro-batches and s stages under 1F1B
//   costs_of(p)       the seconds of all stages, from which the schedule is priced
//   chain_of(net, p)  the net with renumbered segments. A plan stores only how many segments it
//                     recomputes: those with the lowest numbers. So the segments that the stages
//                     recompute get the lowest numbers

#include <algorithm>
#include <vector>

#include <ashlar/search/stages.hpp>
#include <ashlar/step/pipeline/costs.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/support/fnv_hash.hpp>

namespace ashlar::search {

struct pipeline_stage {
  int first = 0;            ///< first element of the stage
  int last = 0;             ///< one past the last element of the stage
  int recomputed = 0;       ///< number of recomputed segments, which are the stage's first ones
  double seconds = 0;       ///< both passes of one micro-batch, without transfers to other stages
  double forward = 0;       ///< part of `seconds` in the forward pass, without recomputation
  double weights = 0;       ///< part of `seconds` that a split backward pass leaves for later (W)
  double work = 0;          ///< part of `seconds` spent computing
  double sending = 0;       ///< transfers to other stages per micro-batch, beside the passes
  double sending_back = 0;  ///< part of `sending` that sends gradients to the stage before
  double synchronize = 0;   ///< seconds of gradient synchronization, once per step
  std::int64_t sent = 0;    ///< bytes that a rank sends to other stages per micro-batch
  std::int64_t memory = 0;  ///< bytes per rank of the part that holds the stage
};

/// Returns the seconds of the passes and transfers of a stage, with which schedules are priced.
constexpr pipelines::stage_costs costs_of(pipeline_stage const& s) {
  return {s.forward, s.seconds - s.forward - s.weights, s.weights, s.sending - s.sending_back,
          s.sending_back};
}

struct pipeline_plan {
  /// The placements of all layers, on the mesh of one part. `seconds` and `memory` apply to the
  /// whole pipeline, and `communication_seconds` to the busiest part. `recomputed` is the sum over
  /// all stages.
  plan chosen;
  int axis = -1;  ///< the mesh axis that the parts divide; -1 for one part
  std::vector<pipeline_stage> stages;
  /// The order of the passes on each part of the mesh. Position p of the schedule is part p of the
  /// mesh. The list `stages` has the order of the net, even if each part holds several chunks of
  /// the net. An empty schedule stands for 1F1B.
  pipelines::schedule order;
  /// The skips whose ends are on different stages, with the seconds of their transfers.
  pipelines::skip_transfers skips;
  double bubble = 0;   ///< seconds of a step in which the busiest part waits for other parts
  double exposed = 0;  ///< how much shorter the step would be if transfers took no time
  /// A lower bound of the seconds of all pipelines that the options of the search permit.
  double lower_bound = 0;

  int micro_batches() const { return chosen.micro_batches; }
  double seconds() const { return chosen.seconds; }
  int parts() const {
    return order.order.empty() ? static_cast<int>(stages.size()) : order.positions;
  }
  /// Returns the most micro-batches that the stage has in flight. To get the numbers of all stages,
  /// call pipelines::in_flight(schedule_of(p)) once.
  int in_flight(int stage) const;
};

inline pipelines::pipeline_costs costs_of(std::vector<pipeline_stage> const& stages) {
  pipelines::pipeline_costs costs;
  for (auto const& s : stages) costs.push_back(costs_of(s));
  return costs;
}
inline pipelines::pipeline_costs costs_of(pipeline_plan const& p) { return costs_of(p.stages); }

/// Returns the order of passes of a plan.
inline pipelines::schedule schedule_of(pipeline_plan const& p) {
  if (!p.order.order.empty()) return p.order;
  return pipelines::one_f_one_b(static_cast<int>(p.stages.size()), p.micro_batches());
}

/// Returns a hash of the placements, the stages and the schedule of a plan, by which programs tell
/// whether they run the same plan.
inline std::uint64_t fingerprint(pipeline_plan const& p) {
  std::uint64_t h = fingerprint(p.chosen);
  auto const mix = [&](int value) { h = fnv_with(h, static_cast<std::uint64_t>(value)); };
  mix(p.axis);
  for (auto const& s : p.stages)
    for (int const value : {s.first, s.last, s.recomputed}) mix(value);
  auto const order = schedule_of(p);
  mix(static_cast<int>(order.wired));
  for (auto const& own : order.order) {
    mix(-1);
    for (auto const& a : own)
      for (int const value : {static_cast<int>(a.what), a.micro_batch, a.chunk}) mix(value);
  }
  return h;
}

inline int pipeline_plan::in_flight(int stage) const {
  return pipelines::in_flight(schedule_of(*this), stage).held;
}

/// Returns the index of the first element of every stage, followed by the number of all elements.
inline std::vector<int> limits_of(pipeline_plan const& p) {
  std::vector<int> limits{0};
  for (auto const& s : p.stages) limits.push_back(s.last);
  return limits;
}

/// Returns the chain with renumbered segments. A plan always recomputes the segments with the
/// lowest numbers, so the segments that any stage recomputes come first. p.chosen.recomputed
/// counts exactly these.
template <int N>
basic_problem<N> chain_of(basic_problem<N> const& net, pipeline_plan const& p) {
  std::vector<int> recomputed;
  for (auto const& s : p.stages) recomputed.push_back(s.recomputed);
  return in_stages(net, limits_of(p), recomputed);
}

/// Returns stage j as a chain of its own. `chain` must be the result of chain_of(net, p).
template <int N>
basic_problem<N> stage_of(basic_problem<N> const& chain, pipeline_plan const& p, int j) {
  auto const& s = p.stages[static_cast<std::size_t>(j)];
  return stage_of(chain, s.first, s.last, p.in_flight(j));
}

/// Returns the placements of stage j as a plan of the chain stage_of(chain, p, j). Its predicted
/// seconds and memory are not set.
template <int N>
basic_plan<N> plan_of_stage(pipeline_plan const& p, int j) {
  auto const& s = p.stages[static_cast<std::size_t>(j)];
  return plan_of_range<N>(p.chosen, s.first, s.last, s.recomputed);
}

/// Returns the mesh of all parts together.
inline topology whole_mesh(pipeline_plan const& p) {
  topology t = p.chosen.mesh;
  if (p.axis >= 0) t.axis[p.axis].extent *= p.parts();
  return t;
}

}  // namespace ashlar::search
