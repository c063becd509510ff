// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// When each stage runs which pass under 1F1B, as a chart shows it. Of m micro-batches stage j of s
//
//   first      runs min(m, s - j) forward passes
//   then       a backward and a forward pass in turn, while there are forward passes left
//   last       the backward passes that remain
//
// Each as soon as the stage is free and the neighbour has sent. Unequal stages end at or before the
// step that price_pipeline.hpp predicts, equal ones with it. Gradients are synchronized after that.

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

/// The k-th pass of a stage that runs `ahead` forward passes first; its times are left 0.
constexpr pipeline_pass nth_pass(int stage, int ahead, int micro_batches, int k) {
  int const turns = 2 * (micro_batches - ahead), r = k - ahead;
  if (r < 0) return {stage, k, false};
  if (r >= turns) return {stage, r - turns / 2, true};
  return {stage, r % 2 == 0 ? r / 2 : ahead + r / 2, r % 2 == 0};
}

}  // namespace detail

/// All passes of a step of `micro_batches` under 1F1B, stage by stage in the order they run.
inline std::vector<pipeline_pass> one_f_one_b(std::vector<pipeline_stage> const& stages,
                                              int micro_batches) {
  int const s = static_cast<int>(stages.size()), m = micro_batches;
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<pipeline_pass> passes(at(2 * s * m));
  // When a pass of a stage ended; below 0: it has not. Stages before the first and behind the last
  // have sent all their forward and backward passes at 0.
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
