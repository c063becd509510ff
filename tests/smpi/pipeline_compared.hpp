// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers of the programs that compare several schedules and transfers of one net on a simulated
// cluster.
//
//   with_halves      a schedule whose backward passes are split into two halves
//   eager_delayed    eager-1F1B that also delays gradients of parameters
//   compared_steps   prints a table of steps, each with its speed relative to the first step

#include <cstdio>

#include <smpi/pipeline_run.hpp>

#include <ashlar/step/crossings_at_once.hpp>
#include <ashlar/step/pipeline/delayed_weights.hpp>

namespace ashlar_test {

/// Returns the schedule with each backward pass split into its two halves, one right after the
/// other: the gradient of the input, then the gradients of the weights.
inline pipelines::schedule with_halves(pipelines::schedule s) {
  for (auto& own : s.order) {
    std::vector<pipelines::action> halves;
    for (auto const& a : own) {
      halves.push_back(a);
      if (a.what != pipelines::pass::backward) continue;
      halves.back().what = pipelines::pass::input_gradient;
      halves.push_back({pipelines::pass::weight_gradient, a.micro_batch, a.chunk});
    }
    own = halves;
  }
  return s;
}

/// Returns a schedule of two positions with the warm-up depths of eager-1F1B. The delays of the
/// parameters' gradients are those for which the timeline of a step is shortest. Among equally good
/// delays, takes the smallest, since each delayed gradient costs memory.
inline pipelines::schedule eager_delayed(int micro_batches, pipelines::pipeline_costs const& costs,
                                         pipelines::skip_transfers const& skips = {}) {
  constexpr int most = 4;  // the largest delay that is tried, one more than the largest depth
  std::vector<int> const depths{3, 1};
  pipelines::schedule best;
  double least = 0;
  for (int sum = 0; sum <= 2 * most; ++sum)
    for (int first = std::max(0, sum - most); first <= std::min(sum, most); ++first) {
      auto const order = pipelines::with_delayed_weights(depths, std::vector{first, sum - first},
                                                         micro_batches);
      double const seconds = pipelines::seconds_of(order, costs, skips);
      if (!best.order.empty() && seconds >= least * (1 - 1e-6)) continue;
      least = seconds;
      best = order;
    }
  return best;
}

class compared_steps {
 public:
  /// `prints` must be true on the rank that knows the seconds of the steps. This rank prints the
  /// table.
  explicit compared_steps(bool prints) : prints_(prints) {
    if (prints_) std::printf("transfers       seconds signal\n");
  }
  /// Prints the line of a step. Returns the step's speed as a fraction of the first step's speed.
  double add(char const* name, double seconds) {
    if (!prints_) return 0;
    if (first_ == 0) first_ = seconds;
    std::printf("%-14s %8.4f %6.3f\n", name, seconds, first_ / seconds);
    std::fflush(stdout);
    return first_ / seconds;
  }

 private:
  bool prints_;
  double first_ = 0;
};

}  // namespace ashlar_test
