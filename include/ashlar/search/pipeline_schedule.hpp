// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes when each forward and backward pass of each stage begins and ends, for charts. The
// schedule is 1F1B. With m micro-batches and s stages, stage j
//
//   first   runs min(m, s - j) forward passes,
//   then    alternates one backward and one forward pass while forward passes are left,
//   last    runs the remaining backward passes.
//
// A pass begins as soon as its stage is free and the neighbouring stage has sent the input of the
// pass. Gradients are synchronized after the last pass. The schedule does not include this
// synchronization. If all stages are equal, the last pass ends at the time that price_pipeline.hpp
// predicts for a step without synchronization. Otherwise it may end earlier.

#include <vector>

#include <ashlar/search/pipeline_plan.hpp>

namespace ashlar::search {

struct pipeline_pass {
  int stage = 0;
  int micro_batch = 0;
  bool backward = false;
  double begin = 0, end = 0;  ///< seconds since the step began
};

namespace detail {

/// Returns pass number k (from 0) of a stage that first runs `ahead` forward passes. The times of
/// the returned pass are 0.
constexpr pipeline_pass nth_pass(int stage, int ahead, int micro_batches, int k) {
  int const turns = 2 * (micro_batches - ahead), r = k - ahead;
  if (r < 0) return {stage, k, false};
  if (r >= turns) return {stage, r - turns / 2, true};
  return {stage, r % 2 == 0 ? r / 2 : ahead + r / 2, r % 2 == 0};
}

}  // namespace detail

/// Returns all passes of a step under the 1F1B schedule: first those of stage 0 in execution order,
/// then those of stage 1, and so on.
inline std::vector<pipeline_pass> one_f_one_b(std::vector<pipeline_stage> const& stages,
                                              int micro_batches) {
  int const s = static_cast<int>(stages.size()), m = micro_batches;
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<pipeline_pass> passes(at(2 * s * m));
  // ended[backward][(stage + 1) * m + micro_batch] is the time at which a pass ends, or -1 if it
  // has not run. Two imaginary stages supply the inputs. One is before the first stage, and its
  // forward passes end at time 0. The other is after the last stage, and its backward passes end at
  // time 0.
  std::vector<double> ended[2];
  for (auto& e : ended) e.assign(at((s + 2) * m), -1);
  for (int k = 0; k < m; ++k) ended[0][at(k)] = ended[1][at((s + 1) * m + k)] = 0;
  std::vector<int> next(at(s), 0);
  std::vector<double> free(at(s), 0);
  for (int left = 2 * s * m; left > 0;)
    for (int j = 0; j < s; ++j)
      while (next[at(j)] < 2 * m) {
        auto pass = detail::nth_pass(j, std::min(m, s - j), m, next[at(j)]);
        auto const& stage = stages[at(j)];
        int const from = pass.backward ? j + 2 : j;
        double const ready = ended[pass.backward][at(from * m + pass.micro_batch)];
        if (ready < 0) break;
        pass.begin = std::max(ready, free[at(j)]);
        pass.end = pass.begin + (pass.backward ? stage.seconds - stage.forward : stage.forward);
        ended[pass.backward][at((j + 1) * m + pass.micro_batch)] = free[at(j)] = pass.end;
        passes[at(j * 2 * m + next[at(j)]++)] = pass;
        --left;
      }
  return passes;
}

}  // namespace ashlar::search
