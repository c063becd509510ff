// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How well scores rank measured steps. A higher score means a faster step. Only pairs that differ
// enough count: by more than `tie`, as a fraction of the difference between the slowest and the
// fastest of the list.
//
//   pairwise_loss      mean over the pairs of log(1 + exp(s - f)), where s is the score of the
//                      slower step and f that of the faster one, and the gradient of this mean
//                      (pairwise logistic loss; Burges et al., ICML 2005)
//   ranking_accuracy   the share of the pairs that are in the right order; equal scores count half

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ashlar::sync {

namespace detail {

/// Two steps count as a pair if their seconds differ by more than this fraction of the range of all
/// seconds.
inline constexpr double tie = 0.005;

/// Calls f(fast, slow) with the indices of each pair of steps that differ enough.
template <class F>
void for_each_pair(std::vector<double> const& seconds, F f) {
  if (seconds.size() < 2) return;
  auto const [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  double const equal = tie * (*most - *least);
  for (std::size_t i = 0; i < seconds.size(); ++i)
    for (std::size_t k = i + 1; k < seconds.size(); ++k) {
      if (seconds[k] - seconds[i] > equal) f(i, k);
      else if (seconds[i] - seconds[k] > equal) f(k, i);
    }
}

}  // namespace detail

/// A loss, and its derivatives with respect to the scores.
struct loss_of_scores {
  double loss = 0;
  std::vector<double> gradient;
};

/// Returns the pairwise logistic loss of scores of steps that took `seconds`. It is 0 if no pair
/// differs enough. Expects lists of the same size.
inline loss_of_scores pairwise_loss(std::vector<double> const& scores,
                                    std::vector<double> const& seconds) {
  loss_of_scores made{0, std::vector<double>(scores.size(), 0)};
  double pairs = 0;
  detail::for_each_pair(seconds, [&](std::size_t fast, std::size_t slow) {
    double const wrong = scores[slow] - scores[fast];
    made.loss += wrong > 0 ? wrong + std::log1p(std::exp(-wrong)) : std::log1p(std::exp(wrong));
    double const slope = 1 / (1 + std::exp(-wrong));
    made.gradient[slow] += slope;
    made.gradient[fast] -= slope;
    ++pairs;
  });
  if (pairs == 0) return made;
  made.loss /= pairs;
  for (auto& g : made.gradient) g /= pairs;
  return made;
}

/// How many pairs differ enough, and how many of them are in the right order.
struct ranked_pairs {
  double right = 0, all = 0;
};

/// Counts the pairs that differ enough, and those that the scores put in the right order. A pair
/// with equal scores counts half. Expects lists of the same size.
inline ranked_pairs pairs_ranked(std::vector<double> const& scores,
                                 std::vector<double> const& seconds) {
  ranked_pairs count;
  detail::for_each_pair(seconds, [&](std::size_t fast, std::size_t slow) {
    count.right += scores[fast] > scores[slow] ? 1 : scores[fast] == scores[slow] ? 0.5 : 0;
    ++count.all;
  });
  return count;
}

/// Returns the share of pairs that the scores put in the right order, or 1 if no pair differs
/// enough. Expects lists of the same size.
inline double ranking_accuracy(std::vector<double> const& scores,
                               std::vector<double> const& seconds) {
  auto const count = pairs_ranked(scores, seconds);
  return count.all == 0 ? 1 : count.right / count.all;
}

}  // namespace ashlar::sync
