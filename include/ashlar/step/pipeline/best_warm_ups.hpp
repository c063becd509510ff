// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches for the best warm-up depth of each position (warm_up.hpp) under given costs. A
// micro-batch is in flight at position j for L_j seconds: from the start of its forward pass there
// to the end of its backward pass there, including all transfers in between. The backward pass
// takes B_j seconds. The search begins with the depths of the better of two rules:
//
//   L_j / period               for full rate (Little's law): a new micro-batch begins every
//                              `period` seconds, the time of the busiest stage or link
//   1 + (L_j - B_j) / forward  all forward passes whose input arrives before the first gradient.
//                              An input arrives every `forward` seconds, the time of the longest
//                              forward pass or transfer up to position j
//
// The search changes the depths of some neighbouring positions by small amounts, as long as the
// step becomes shorter and is longer than the bound (bound.hpp). It replays a limited number of
// passes, so if there are many positions, it changes groups of them. Then it makes each depth as
// small as it can without a longer step, since each micro-batch in flight costs memory.

#include <algorithm>
#include <cmath>
#include <limits>

#include <ashlar/step/pipeline/bound.hpp>
#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace ashlar::pipelines {

namespace detail {

class warm_up_search {
 public:
  warm_up_search(int micro_batches, pipeline_costs const& costs, skip_transfers const& skips,
                 std::vector<int> most)
      : micro_batches_(micro_batches), costs_(costs), skips_(skips),
        most_(static_cast<std::vector<int>&&>(most)),
        least_(bound({static_cast<int>(costs.size()), micro_batches, 1, wiring::straight, {}},
                     costs, false, skips) *
               slightly_more) {
    // A position with a larger depth than the position before would wait for ever for that
    // position.
    for (std::size_t j = 0; j < size(); ++j)
      most_[j] = std::clamp(most_[j], 1, j == 0 ? std::max(1, micro_batches) : most_[j - 1]);
  }

  std::vector<int> run() {
    auto const few = at_full_rate();
    take(few);
    if (best_ > least_) take(before_the_first_gradient());
    change();
    shrink_all(few);
    for (std::size_t j = size(); j-- > 0;) shrink(j);
    return depths_;
  }

 private:
  static constexpr double slightly_more = 1 + 1e-12;
  static constexpr double most_passes = 1e7;  // limit for the replayed passes of a round of changes

  std::size_t size() const { return costs_.size(); }

  double length(std::vector<int> const& depths) const {
    double const seconds = seconds_of(with_warm_ups(depths, micro_batches_), costs_, skips_);
    return seconds < 0 ? std::numeric_limits<double>::infinity() : seconds;
  }

  /// Takes these depths if they make the step shorter, and returns whether it has taken them.
  bool take(std::vector<int> const& depths) {
    double const now = length(depths);
    if (now * slightly_more >= best_) return false;
    best_ = now;
    depths_ = depths;
    return true;
  }
  /// Takes these depths unless they make the step longer, and returns whether it has taken them.
  bool take_smaller(std::vector<int> const& depths) {
    if (length(depths) > best_ * slightly_more) return false;
    depths_ = depths;
    return true;
  }

  int permitted(std::size_t j, double depth) const {
    return static_cast<int>(std::clamp(depth, 1., double(most_[j])));
  }

  /// Returns L_j (see the top of this file) of all positions.
  std::vector<double> flights() const {
    auto const alone = replay(with_warm_ups(std::vector<int>(size(), 1), 1), costs_, skips_);
    std::vector<double> flights;
    for (auto const& own : alone.passes) flights.push_back(own.back().end - own.front().begin);
    return flights;
  }
  /// Returns the seconds for which one micro-batch keeps the busiest link between neighbours busy.
  double busiest_link() const {
    double busiest = 0;
    for (std::size_t j = 0; j < size(); ++j) {
      double forward = costs_[j].send_forward, backward = costs_[j].send_backward;
      for (auto const& it : skips_) {
        if (it.to != it.from + 1) continue;
        if (it.from == static_cast<int>(j)) forward += it.forward;
        if (it.to == static_cast<int>(j)) backward += it.backward;
      }
      busiest = std::max({busiest, forward, backward});
    }
    return busiest;
  }
  std::vector<int> at_full_rate() const {
    std::vector<int> depths(size(), 1);
    double period = busiest_link();
    for (auto const& c : costs_) period = std::max(period, c.all());
    auto const flight = flights();
    for (std::size_t j = 0; j < size() && period > 0; ++j)
      depths[j] = permitted(j, std::ceil(flight[j] / period / slightly_more));
    return depths;
  }
  std::vector<int> before_the_first_gradient() const {
    std::vector<int> depths(size(), 1);
    double forward = 0;
    auto const flight = flights();
    for (std::size_t j = 0; j < size(); ++j) {
      forward = std::max(forward, costs_[j].forward);
      if (j > 0) forward = std::max(forward, costs_[j - 1].send_forward);
      if (forward > 0)
        depths[j] = permitted(j, 1 + (flight[j] - costs_[j].of(pass::backward)) / forward *
                                         slightly_more);
      if (j > 0) depths[j] = std::min(depths[j], depths[j - 1]);
    }
    return depths;
  }

  /// Divides the positions into groups of neighbours, one or more in a group. Changes the depths of
  /// ranges of groups by small amounts while that makes the step shorter.
  void change() {
    double const passes = 2. * micro_batches_ * double(size());
    std::size_t group = 1;
    auto const ranges = [&] {
      double const groups = std::ceil(double(size()) / double(group));
      return groups * (groups + 1) / 2;
    };
    // A round replays the step three times for each range, once with each of the changes below. All
    // rounds together may replay as much as four of the longest rounds.
    while (group < size() && 3 * ranges() * passes > most_passes) ++group;
    double left = 4 * most_passes;
    for (bool better = true; better;) {
      better = false;
      for (std::size_t first = 0; first < size(); first += group)
        for (std::size_t end = first + group; end < size() + group; end += group)
          for (int const by : {1, 2, -1}) {
            if (best_ <= least_ || (left -= passes) < 0) return;
            auto other = depths_;
            for (std::size_t j = first; j < std::min(end, size()); ++j)
              other[j] = std::clamp(other[j] + by, 1, most_[j]);
            better = take(other) || better;
          }
    }
  }

  /// Moves all depths that are above `few` towards `few`, by the largest common fraction of the way
  /// that does not make the step longer. The fraction is a number of sixteenths, found by
  /// bisection.
  void shrink_all(std::vector<int> const& few) {
    auto const from = depths_;
    constexpr int steps = 16;
    int enough = steps;
    for (int by = steps / 2; by > 0; by /= 2) {
      auto other = from;
      for (std::size_t j = 0; j < size(); ++j)
        if (from[j] > few[j]) other[j] = few[j] + (from[j] - few[j]) * (enough - by) / steps;
      if (take_smaller(other)) enough -= by;
    }
  }
  /// Makes the depth of position j smaller, by more and more at a time, while the step does not
  /// become longer.
  void shrink(std::size_t j) {
    for (int by = 1; by > 0;) {
      auto other = depths_;
      other[j] = std::max(other[j] - by, j + 1 < size() ? depths_[j + 1] : 1);
      if (other[j] < depths_[j] && take_smaller(other)) by *= 2;
      else by = by > 1 ? 1 : 0;
    }
  }

  int micro_batches_;
  pipeline_costs const& costs_;
  skip_transfers const& skips_;
  std::vector<int> most_;
  double least_;
  double best_ = std::numeric_limits<double>::infinity();
  std::vector<int> depths_ = std::vector<int>(costs_.size(), 1);
};

}  // namespace detail

/// Returns the best warm-up depths that the search has found, one for each position. `costs` and
/// `most` have an entry for each position: the seconds of its stage, and the largest depth that its
/// memory permits. `skips` has the transfers of skips between stages.
inline std::vector<int> best_warm_ups(int micro_batches, pipeline_costs const& costs,
                                      std::vector<int> most, skip_transfers const& skips = {}) {
  return detail::warm_up_search(micro_batches, costs, skips, static_cast<std::vector<int>&&>(most))
      .run();
}

}  // namespace ashlar::pipelines
