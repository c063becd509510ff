// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan with pipeline stages, as search::pipeline finds it, a file stores it and explain shows it.
// The stages divide one axis of the mesh. Each stage has a contiguous part of the elements and
// equally many ranks.
//
//   chosen.mesh       the mesh of one stage; its axis `axis` is that stage's part of the whole axis
//   whole_mesh(p)     the mesh of all ranks
//   in_flight(j)      the maximum number of micro-batches that stage j has begun but not finished,
//                     min(m, s - j)
//   chain_of(net, p)  the net with its segments renumbered so that runs() knows which ones the
//                     stages recompute

#include <algorithm>
#include <vector>

#include <ashlar/search/stages.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {

struct pipeline_stage {
  int first = 0;       ///< its first element
  int last = 0;        ///< one past its last element
  int recomputed = 0;  ///< number of its segments, the first ones, that are recomputed (stages.hpp)
  double seconds = 0;  ///< u_j: both passes of one micro-batch
  double forward = 0;  ///< the part of it in the first forward pass
  double work = 0;     ///< the part of it spent computing
  double sending = 0;  ///< the part of it spent sending to other stages
  double synchronize = 0;   ///< g_j: gradient synchronization, once per step
  std::int64_t sent = 0;    ///< bytes that a rank sends to other stages per micro-batch
  std::int64_t memory = 0;  ///< bytes per rank
};

struct pipeline_plan {
  plan chosen;    ///< the placements of all elements, on the mesh of one stage; seconds and memory
                  ///< are those of the whole pipeline, communication is that of the slowest stage,
                  ///< `recomputed` is the sum over all stages
  int axis = -1;  ///< the mesh axis that the stages divide; -1 for one stage
  std::vector<pipeline_stage> stages;
  double bubble = 0;       ///< seconds of a step in which a stage waits for others
  double lower_bound = 0;  ///< lower bound of the seconds of any plan with the searched stages and
                           ///< micro-batches

  int micro_batches() const { return chosen.micro_batches; }
  double seconds() const { return chosen.seconds; }
  int in_flight(int stage) const {
    return std::min(micro_batches(), static_cast<int>(stages.size()) - stage);
  }
};

/// Returns the elements at which the stages begin, and the end of the chain.
inline std::vector<int> limits_of(pipeline_plan const& p) {
  std::vector<int> limits{0};
  for (auto const& s : p.stages) limits.push_back(s.last);
  return limits;
}

/// Returns the chain with its segments renumbered so that the recomputed ones of all stages come
/// first. With this chain, p.chosen describes what the stages compute and keep.
template <int N>
basic_problem<N> chain_of(basic_problem<N> const& net, pipeline_plan const& p) {
  std::vector<int> recomputed;
  for (auto const& s : p.stages) recomputed.push_back(s.recomputed);
  return in_stages(net, limits_of(p), recomputed);
}

/// Returns stage j as a chain of its own. `chain` is chain_of(net, p).
template <int N>
basic_problem<N> stage_of(basic_problem<N> const& chain, pipeline_plan const& p, int j) {
  auto const& s = p.stages[static_cast<std::size_t>(j)];
  return stage_of(chain, s.first, s.last, p.in_flight(j));
}

/// Returns the placements of stage j as a plan of that chain, without predictions.
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

/// Returns the mesh of all stages together.
inline topology whole_mesh(pipeline_plan const& p) {
  topology t = p.chosen.mesh;
  if (p.axis >= 0) t.axis[p.axis].extent *= static_cast<int>(p.stages.size());
  return t;
}

}  // namespace ashlar::search
