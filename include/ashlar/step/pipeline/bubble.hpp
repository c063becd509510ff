// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The bubble of a pipeline: the share of a step's time in which a part of the mesh runs no pass, as
// a mean over all parts. With s equal stages, m micro-batches and transfers that take no time, the
// bubble of GPipe and 1F1B is (s - 1) / (m + s - 1). The trainer measures the same mean
// (train/step_report.hpp).

#include <ashlar/step/pipeline/replay.hpp>

namespace ashlar::pipelines {

/// Returns the bubble of a replayed schedule, between 0 and 1. Expects a complete timeline.
constexpr double bubble_of(timeline const& t) {
  double busy = 0;
  for (auto const& own : t.passes)
    for (auto const& pass : own) busy += pass.end - pass.begin;
  double const all = t.seconds * static_cast<double>(t.passes.size());
  return all > 0 ? 1 - busy / all : 0;
}

/// Returns the bubble of a schedule. `costs` are the seconds of each stage.
constexpr double bubble_of(schedule const& s, pipeline_costs const& costs) {
  return bubble_of(replay(s, costs));
}

}  // namespace ashlar::pipelines
