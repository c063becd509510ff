// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan in pipeline stages: what search::pipeline finds, a file stores and explain shows. The
// stages divide one axis of the mesh; each has a stretch of the elements and equally many ranks.
//
//   chosen.mesh       the mesh of one stage: `axis` is the stages' part of it
//   whole_mesh(p)     all ranks
//   in_flight(j)      micro-batches that stage j has begun and not ended, at most: min(m, s - j)

#include <algorithm>
#include <vector>

#include <ashlar/search/plan.hpp>

namespace ashlar::search {

struct pipeline_stage {
  int first = 0;            ///< element
  int last = 0;             ///< behind its last element
  double seconds = 0;       ///< u_j, of one micro-batch
  double forward = 0;       ///< the part of it in the forward pass
  double work = 0;          ///< the part of it that computes
  double sending = 0;       ///< the part of it in sends to other stages
  double synchronize = 0;   ///< g_j, once per step
  std::int64_t sent = 0;    ///< bytes that a rank sends to other stages, of one micro-batch
  std::int64_t memory = 0;  ///< bytes per rank
};

struct pipeline_plan {
  plan chosen;  ///< of all elements, on the mesh of one stage; its seconds and memory are those of
                ///< the pipeline, communication that of the slowest stage
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

/// The mesh of all stages together.
inline topology whole_mesh(pipeline_plan const& p) {
  topology t = p.chosen.mesh;
  if (p.axis >= 0) t.axis[p.axis].extent *= static_cast<int>(p.stages.size());
  return t;
}

}  // namespace ashlar::search
