// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The fidelity level of a ranker (AutoDist, section 2.4): the highest score up to which the ranker
// orders enough pairs of trials right. Below this level the ranker is trusted. Low scores stand for
// slow steps, so candidates below the level are rejected.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include <ashlar/sync/tuning/pairwise_loss.hpp>

namespace ashlar::sync {

/// Returns the number of the trial whose score is the fidelity level: the highest score L for which
/// at least the share `wanted` of the pairs of trials with scores up to L is ranked right. Only
/// pairs that differ enough count (pairwise_loss.hpp), and there must be at least one. Returns
/// nothing if there is no such trial. Expects lists of the same size, of trials that the ranker was
/// not trained on.
inline std::optional<std::size_t> fidelity_trial(std::vector<double> const& scores,
                                                 std::vector<double> const& seconds,
                                                 double wanted = 0.8) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  std::optional<std::size_t> level;
  std::vector<double> lower, times;
  for (auto const k : order) {
    lower.push_back(scores[k]);
    times.push_back(seconds[k]);
    auto const pairs = pairs_ranked(lower, times);
    if (pairs.all > 0 && pairs.right >= wanted * pairs.all) level = k;
  }
  return level;
}

/// Returns the fidelity_trial of the last round of a list of trials, as its number in the whole
/// list, or nothing if there is none. The round begins with trial number `first`. `scores` and
/// `seconds` are those of its trials only.
inline std::optional<std::size_t> fidelity_trial_of_round(std::size_t first,
                                                          std::vector<double> const& scores,
                                                          std::vector<double> const& seconds,
                                                          double wanted = 0.8) {
  auto level = fidelity_trial(scores, seconds, wanted);
  if (level) *level += first;
  return level;
}

}  // namespace ashlar::sync
