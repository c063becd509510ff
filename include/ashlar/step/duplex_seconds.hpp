// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The seconds T of a step of two micro-batches that take turns, in closed form. T equals the
// seconds of the timeline (timeline.hpp) if the program uses one link and consists of stages only.
// Here a stage is a redistribution and the computations after it. Stage i of a micro-batch has m_i
// seconds of communication and p_i seconds of work. The first stage has no communication. Let x⁺
// be max(x, 0). Then
//
//   T = 2 Σ p_i + Σ over i > 1 of ( (m_i - p_{i-1})⁺ + (m_i - p_i)⁺ )
//
// This follows from equations 4 and 5 of HiDup (Zhang et al., "Accelerating Large-Scale Distributed
// Neural Network Training with SPMD Parallelism", SoCC 2022), which add up the same seconds stage
// by stage. In HiDup, both micro-batches wait for each other after every turn. The timeline has no
// such barriers, but takes as long: in each turn the processor and the link both wait for the end
// of one micro-batch's computations and for the end of the other one's communication.
//
// The formula leaves out several links, latencies of buckets, synchronization of gradients,
// gathers, and weight gradients that run beside the move of their layer's dx. The timeline has all
// of these.

#include <ashlar/step/names.hpp>

namespace ashlar::search {
inline namespace step {

/// The seconds of one stage for one micro-batch: of the redistribution with which the stage begins,
/// and of its computations.
struct duplex_stage {
  double communication = 0;
  double work = 0;
};

/// Returns the seconds in which two micro-batches that take turns pass through all stages. `stages`
/// is a range of duplex_stage.
template <class Stages>
constexpr double duplex_seconds(Stages const& stages) {
  double seconds = 0, before = 0;
  bool is_first = true;
  for (duplex_stage const& s : stages) {
    seconds += 2 * s.work;
    if (!is_first && s.communication > before) seconds += s.communication - before;
    if (!is_first && s.communication > s.work) seconds += s.communication - s.work;
    before = s.work;
    is_first = false;
  }
  return seconds;
}

}  // namespace step
}  // namespace ashlar::search
