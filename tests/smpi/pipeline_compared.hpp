// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the programs share that compare schedules and transfers of one net with each other, on a
// simulated cluster.
//
//   with_halves      a schedule with backward passes in two halves
//   compared_steps   a table of steps, each with its speed as a part of the first one's

#include <cstdio>

#include <smpi/pipeline_run.hpp>

#include <ashlar/step/crossings_at_once.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace ashlar_test {

/// Returns the schedule with each backward pass in its two halves, one right after the other.
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

class compared_steps {
 public:
  /// Only the rank that `prints` has the seconds of the steps.
  explicit compared_steps(bool prints) : prints_(prints) {
    if (prints_) std::printf("transfers      seconds signal\n");
  }
  /// Prints a step, and returns its speed as a part of the first step's.
  double add(char const* name, double seconds) {
    if (!prints_) return 0;
    if (first_ == 0) first_ = seconds;
    std::printf("%-13s %8.4f %6.3f\n", name, seconds, first_ / seconds);
    std::fflush(stdout);
    return first_ / seconds;
  }

 private:
  bool prints_;
  double first_ = 0;
};

}  // namespace ashlar_test
