// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Ranks candidates by predicted seconds times a learned correction:
//
//   log(seconds) = log(predicted) + w · influences + constant
//
// So only log(measured / predicted) is learned, by ridge regression (ridge.hpp). The constant does
// not change the ranking. The weights w are logarithms of factors between true and assumed figures
// of the machine (influences.hpp). The correction is linear only for small factors. So the
// prediction is made on a machine with the figures that were learned before, and the regression is
// repeated there (the Gauss-Newton method).
//
//   other clusters   w is fitted to their trials first. The learning on this cluster begins with
//                    the result w0, towards which the penalty draws w.
//   penalty          λ = 0.0025 = (σ / 0.3)²: measurements are off by about σ = 1.5 %, and the
//                    logarithms of factors by about 0.3 from what is assumed
//   choosing         the candidates of a round are those with the largest sums of the score and two
//                    standard deviations of its correction (upper confidence bound). A chosen
//                    candidate makes the corrections of similar candidates less uncertain.
//
// Without trials the ranking is that of the prediction.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <ashlar/sync/tuning/price.hpp>
#include <ashlar/sync/tuning/ridge.hpp>
#include <ashlar/sync/tuning/trial.hpp>

namespace ashlar::sync {

class corrected_ranker {
 public:
  /// The space must outlive this object.
  explicit corrected_ranker(strategy_space const& space)
      : space_(&space), learned_(space.machine()) {}

  /// Learns from the trials of this cluster, `own`, and of other clusters, `others`. `own` must
  /// begin with the trials of the previous call.
  void fit(std::vector<trial> const& own, std::vector<trial> const& others) {
    influences const earlier = others.size() < least ? influences{}
                                                     : ridge(others).weights({}, penalty);
    // All trials are priced anew after the first trials, and whenever their number has grown by
    // half.
    bool const moves = at_.empty() || 2 * own.size() >= 3 * moved_with_;
    for (int times = moves ? 2 : 1; times > 0; --times) {
      if (moves) {
        moved_with_ = own.size();
        move_to(times == 2 && at_.empty() ? earlier : weights());
      }
      for (auto k = at_.size(); k < own.size(); ++k) at_.push_back(priced(own[k]));
      rest_ = {};
      for (std::size_t k = 0; k < rest_.size(); ++k) rest_[k] = earlier[k] - moved_[k];
      if (own.size() >= least) rest_ = ridge(at_).weights(rest_, penalty);
    }
  }

  /// Returns the price of a candidate's program on the machine with the learned figures.
  price price_of(search::program const& made) const { return sync::price_of(made, learned_, true); }
  price price_of(candidate const& c) const {
    return price_of(program_of(*space_, space_->plan_of(c), c.division));
  }

  /// Returns the score of a candidate. `p` is the result of price_of for this candidate. A higher
  /// score means a faster step.
  double score(price const& p) const { return -std::log(p.seconds) - dot(rest_, p.slopes); }

  /// Returns the numbers of at most `count` candidates with these prices, to be measured next.
  std::vector<std::size_t> choose(std::vector<price> const& list, int count) const {
    ridge known(at_);
    std::vector<std::size_t> chosen;
    std::vector<bool> is_chosen(list.size(), false);
    while (static_cast<int>(chosen.size()) < count && chosen.size() < list.size()) {
      auto best = list.size();
      double best_value = 0;
      for (std::size_t k = 0; k < list.size(); ++k) {
        if (is_chosen[k]) continue;
        double const value = score(list[k]) + 2 * sigma * known.deviation(list[k].slopes, penalty);
        if (best == list.size() || value > best_value) best = k, best_value = value;
      }
      is_chosen[best] = true;
      chosen.push_back(best);
      known.add(list[best].slopes);
    }
    return chosen;
  }

  /// Returns the logarithms of the learned factors between true and assumed figures. Each factor is
  /// relative to the factor of computations, which is not learned (influences.hpp).
  influences weights() const {
    influences w = moved_;
    for (std::size_t k = 0; k < w.size(); ++k) w[k] += rest_[k];
    return w;
  }

 private:
  static constexpr std::size_t least = 4;  // the fewest trials from which anything is learned
  static constexpr double penalty = 0.0025;
  static constexpr double sigma = 0.015;
  static constexpr double most = 2;  // the largest logarithm of a factor

  /// From now on, predicts on a machine whose figures are the assumed ones times exp(w). Each w is
  /// first limited to the range from -most to most.
  void move_to(influences w) {
    learned_ = space_->machine();
    for (std::size_t k = 0; k < w.size(); ++k) {
      w[k] = std::clamp(w[k], -most, most);
      learned_ = scaled(learned_, static_cast<influence>(k), std::exp(w[k]));
    }
    moved_ = w;
    rest_ = {};
    at_.clear();
  }

  /// Returns `t` with the predictions for the machine that has the learned figures.
  trial priced(trial t) const {
    auto const p = price_of(t.strategy);
    t.predicted = p.seconds;
    t.slopes = p.slopes;
    return t;
  }

  strategy_space const* space_;
  machine learned_;  // the assumed machine, with its figures times exp(moved_)
  influences moved_{}, rest_{};
  std::vector<trial> at_;  // the trials of this cluster, predicted on machine learned_
  std::size_t moved_with_ = 0;
};

}  // namespace ashlar::sync
