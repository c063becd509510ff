// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Schedules with warm-ups (warm_up.hpp) that delay the gradients of parameters. The backward pass
// is split: a part sends the gradient of its input (I) before it computes the gradients of its
// parameters (W). The part at position j runs d forward passes (F) before its first I, and the W of
// micro-batch k follows the I of micro-batch k + w:
//
//   F F .. F   I W F   I W F   ..   I W   W W .. W        d = depths[j], w = delays[j]
//
// So W fills the time in which a part would wait for a transfer or for the end of the pipeline. At
// any time, at most d micro-batches of the part have run F but not I, and at most d + w have run F
// but not W. If the schedule can run without delays, it can run with every list of delays.
//
// Let s equal stages take F, I and W seconds, and transfers none. Let the depths be
// a (s - j) - (a - 1) and the delays b j, for integers a >= 1 and b <= a. If the number of
// micro-batches is at least a s, each part waits in a step for
//
//   (s - 1) max(F, F + I - b W) seconds
//
// With a = b = 1 parts wait as long as with ZB-H1, and each position needs as much memory as the
// first position under 1F1B. With a = b = 2 parts wait as long as with ZB-H2. The first forward
// pass reaches the last position after (s - 1) F, so this position waits at least that long under
// every schedule.

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include <ashlar/step/pipeline/bound.hpp>
#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::pipelines {

/// Returns the schedule with the given warm-up depth and the given delay of each position. Numbers
/// above the number of micro-batches count as that number. If a depth is larger than the depth of
/// the position before, the schedule cannot run (check.hpp). Throws ashlar::error if the lists have
/// different lengths, if a depth is below 1, or if a delay is below 0.
constexpr schedule with_delayed_weights(std::span<int const> depths, std::span<int const> delays,
                                        int micro_batches) {
  if (depths.size() != delays.size())
    throw error("pipelines::with_delayed_weights",
                "there are " + std::to_string(depths.size()) + " warm-up depths, but " +
                    std::to_string(delays.size()) + " delays. Give one of each for a position.");
  schedule s{static_cast<int>(depths.size()), micro_batches, 1, wiring::straight, {}};
  for (std::size_t j = 0; j < depths.size(); ++j) {
    if (depths[j] < 1 || delays[j] < 0)
      throw error("pipelines::with_delayed_weights",
                  "position " + std::to_string(j) + " has a warm-up depth of " +
                      std::to_string(depths[j]) + " and a delay of " + std::to_string(delays[j]) +
                      ". Depths are 1 or more, and delays 0 or more.");
    int const ahead = std::min(depths[j], micro_batches), late = std::min(delays[j], micro_batches);
    std::vector<action> own;
    for (int k = 0; k < ahead; ++k) own.push_back({pass::forward, k});
    for (int k = 0; k < micro_batches; ++k) {
      own.push_back({pass::input_gradient, k});
      if (k >= late) own.push_back({pass::weight_gradient, k - late});
      if (ahead + k < micro_batches) own.push_back({pass::forward, ahead + k});
    }
    for (int k = micro_batches - late; k < micro_batches; ++k)
      own.push_back({pass::weight_gradient, k});
    s.order.push_back(static_cast<std::vector<action>&&>(own));
  }
  return s;
}

namespace detail {

/// Searches for the depths and delays that are best under given costs. First it tries depths that
/// grow by a number a from each position to the position before, and delays that grow by a number b
/// from each position to the next. a and b are multiples of one half. It stops trying when a step
/// is as short as the bound (bound.hpp). Then it makes delays and depths as small as it can without
/// a longer step, since each micro-batch in flight costs memory. It replays a limited number of
/// passes.
class delay_search {
 public:
  delay_search(int micro_batches, pipeline_costs const& costs, skip_transfers const& skips,
               std::vector<int> const& most)
      : micro_batches_(micro_batches), costs_(costs), skips_(skips), most_(most),
        least_(bound({static_cast<int>(costs.size()), micro_batches, 1, wiring::straight, {}},
                     costs, true, skips) *
               slightly_more) {
    for (int& n : most_) n = std::max(n, 1);
  }

  schedule run() {
    take(rule(0, 0));
    for (int a = 2; a <= most_halves && best_ > least_; ++a)
      for (int b = 0; b <= a + 2 && best_ > least_ && left_ > 0; ++b) take(rule(a, b));
    for (std::size_t j = size(); j-- > 0;) shrink(now_.delays, j, 0);
    for (std::size_t j = size(); j-- > 0;)
      shrink(now_.depths, j, j + 1 < size() ? now_.depths[j + 1] : 1);
    return made(now_);
  }

 private:
  struct numbers {
    std::vector<int> depths, delays;
  };

  static constexpr double slightly_more = 1 + 1e-12;
  static constexpr double most_passes = 3e7;  // limit for all replayed passes
  static constexpr int most_halves = 16;      // the largest a, counted in halves

  std::size_t size() const { return costs_.size(); }
  schedule made(numbers const& n) const {
    return with_delayed_weights(n.depths, n.delays, micro_batches_);
  }
  double length(numbers const& n) {
    left_ -= 3. * micro_batches_ * double(size());
    double const seconds = seconds_of(made(n), costs_, skips_);
    return seconds < 0 ? std::numeric_limits<double>::infinity() : seconds;
  }

  /// Returns depths that grow by a / 2 from each position to the one before, and delays that grow
  /// by b / 2 from each position to the next, as far as most_ permits.
  numbers rule(int a, int b) const {
    numbers n;
    for (std::size_t j = 0; j < size(); ++j) {
      int const here = static_cast<int>(j), after = static_cast<int>(size() - 1 - j);
      int const most = std::min(most_[j], j > 0 ? n.depths.back() : micro_batches_);
      n.depths.push_back(std::max(1, std::min(most, 1 + (a * after + 1) / 2)));
      n.delays.push_back(std::min(most_[j] - n.depths.back(), (b * here + 1) / 2));
    }
    return n;
  }
  void take(numbers const& n) {
    double const seconds = length(n);
    if (seconds * slightly_more >= best_) return;
    best_ = seconds;
    now_ = n;
  }
  /// Reduces list[j], at most to `least`, while the step does not become longer. `list` is one of
  /// the two lists of now_. The decrement doubles after each success.
  void shrink(std::vector<int>& list, std::size_t j, int least) {
    for (int by = 1; by > 0 && left_ > 0;) {
      int const before = list[j];
      list[j] = std::max(before - by, least);
      if (list[j] < before && length(now_) <= best_ * slightly_more) {
        by *= 2;
      } else {
        list[j] = before;
        by = by > 1 ? 1 : 0;
      }
    }
  }

  int micro_batches_;
  pipeline_costs const& costs_;
  skip_transfers const& skips_;
  std::vector<int> most_;
  double least_, left_ = most_passes;
  double best_ = std::numeric_limits<double>::infinity();
  numbers now_;
};

}  // namespace detail

/// Returns the schedule whose depths and delays make a step shortest, of those that were tried.
/// `costs` has an entry for each stage; if it is empty, all passes take equal time, and transfers
/// between neighbours take none. `most` has an entry for each position: the most micro-batches that
/// it may have in flight, at least 1. `skips` has the transfers of skips between stages.
inline schedule delayed_weights(int positions, int micro_batches, pipeline_costs costs,
                                std::vector<int> const& most, skip_transfers const& skips = {}) {
  if (costs.empty()) costs = equal_costs(positions, 0);
  return detail::delay_search(micro_batches, costs, skips, most).run();
}

/// Returns the schedule of the overload above if every position may have `most` micro-batches in
/// flight.
inline schedule delayed_weights(int positions, int micro_batches, pipeline_costs const& costs = {},
                                int most = std::numeric_limits<int>::max(),
                                skip_transfers const& skips = {}) {
  // More than two times the number of micro-batches cannot be in flight or delayed.
  return delayed_weights(
      positions, micro_batches, costs,
      std::vector<int>(static_cast<std::size_t>(positions), std::min(most, 2 * micro_batches)),
      skips);
}

}  // namespace ashlar::pipelines
