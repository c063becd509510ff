// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan in pipeline stages: what search::pipeline finds, a file stores and explain shows. The
// stages divide one axis of the mesh; each has a stretch of the elements and equally many ranks.
//
//   chosen.mesh       the mesh of one stage: `axis` is the stages' part of it
//   whole_mesh(p)     all ranks
//   in_flight(j)      micro-batches that stage j has begun and not ended, at most: min(m, s - j)
//   chain_of(net, p)  the net in which runs() knows what the stages recompute

#include <algorithm>
#include <vector>

#include <ashlar/search/stages.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {

struct pipeline_stage {
  int first = 0;            ///< element
  int last = 0;             ///< behind its last element
  int recomputed = 0;       ///< of its segments, the first ones (stages.hpp)
  double seconds = 0;       ///< u_j, of one micro-batch
  double forward = 0;       ///< the part of it in the first forward pass
  double work = 0;          ///< the part of it that computes
  double sending = 0;       ///< the part of it in sends to other stages
  double synchronize = 0;   ///< g_j, once per step
  std::int64_t sent = 0;    ///< bytes that a rank sends to other stages, of one micro-batch
  std::int64_t memory = 0;  ///< bytes per rank
};

struct pipeline_plan {
  plan chosen;  ///< of all elements, on the mesh of one stage; its seconds and memory are those of
                ///< the pipeline, communication that of the slowest stage, `recomputed` the sum
  int axis = -1;  ///< of the mesh, divided by the stages; -1 for one stage
  std::vector<pipeline_stage> stages;
  double bubble = 0;       ///< seconds of a step in which a stage waits for others
  double lower_bound = 0;  ///< seconds that no plan of the searched stages and micro-batches beats

  int micro_batches() const { return chosen.micro_batches; }
  double seconds() const { return chosen.seconds; }
  int in_flight(int stage) const {
    return std::min(micro_batches(), static_cast<int>(stages.size()) - stage);
  }
};

/// The elements at which the stages begin, and the end of the chain.
inline std::vector<int> limits_of(pipeline_plan const& p) {
  std::vector<int> limits{0};
  for (auto const& s : p.stages) limits.push_back(s.last);
  return limits;
}

/// The chain with the segments of each stage that are recomputed as its first ones; p.chosen is a plan
/// of it that runs, and keeps for later, what the stages do.
template <int N>
basic_problem<N> chain_of(basic_problem<N> const& net, pipeline_plan const& p) {
  std::vector<int> recomputed;
  for (auto const& s : p.stages) recomputed.push_back(s.recomputed);
  return in_stages(net, limits_of(p), recomputed);
}

/// Stage j as a chain of its own. `chain`: chain_of(net, p).
template <int N>
basic_problem<N> stage_of(basic_problem<N> const& chain, pipeline_plan const& p, int j) {
  auto const& s = p.stages[static_cast<std::size_t>(j)];
  return stage_of(chain, s.first, s.last, p.in_flight(j));
}

/// What p places there, as a plan of that chain; without predictions.
template <int N>
basic_plan<N> plan_of_stage(pipeline_plan const& p, int j) {
  auto const& s = p.stages[static_cast<std::size_t>(j)];
  basic_plan<N> own;
  own.mesh = p.chosen.mesh;
  own.micro_batches = p.micro_batches();
  own.recomputed = s.recomputed;
  for (int i = s.first; i < s.last; ++i) own.choices.push_back(p.chosen[i]);
  return own;
}

/// The mesh of all stages together.
inline topology whole_mesh(pipeline_plan const& p) {
  topology t = p.chosen.mesh;
  if (p.axis >= 0) t.axis[p.axis].extent *= static_cast<int>(p.stages.size());
  return t;
}

}  // namespace ashlar::search
