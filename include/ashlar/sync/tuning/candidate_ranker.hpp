// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The four rankers of `tune` behind one interface:
//
//   corrected    ours: the timeline's seconds times a learned correction (corrected_ranker.hpp)
//   linear       AutoDist: linear in the twelve totals (strategy_features.hpp)
//   perceptron   AutoDist: one hidden layer on the twelve totals
//   recurrent    AutoDist: the bidirectional LSTM on the features of all variables
//
// Before the first trials, AutoDist's rankers order candidates by the sum of their transmissions.
// They learn from the trials of other clusters first, and then from those of this cluster. The
// recurrent one learns only from this cluster, because a log does not contain the features of
// variables.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/sync/tuning/corrected_ranker.hpp>
#include <ashlar/sync/tuning/fit_ranker.hpp>
#include <ashlar/sync/tuning/lstm_ranker.hpp>
#include <ashlar/sync/tuning/price.hpp>
#include <ashlar/sync/tuning/trial.hpp>

namespace ashlar::sync {

enum class ranker_kind : signed char { corrected, linear, perceptron, recurrent };

/// A candidate with all that a ranker may read of it.
struct described_candidate {
  candidate strategy;
  strategy_features features;
  price predicted;   ///< the price that the ranker predicts, if it needs one
  double score = 0;  ///< the result of candidate_ranker::score, which the caller sets
};

class candidate_ranker {
 public:
  /// The space must outlive this object.
  candidate_ranker(strategy_space const& space, ranker_kind kind, std::uint64_t seed,
                   int epochs = 40)
      : space_(space), kind_(kind), corrected_(space), perceptron_(seed), recurrent_(seed) {
    how_.epochs = epochs;
    how_.seed = seed;
    if (kind == ranker_kind::recurrent) how_.rate = 2e-3;
  }

  /// Returns a candidate with the data that `score` needs: its predicted price or its features.
  described_candidate described(candidate c) const {
    described_candidate made;
    if (kind_ == ranker_kind::corrected) made.predicted = corrected_.price_of(c);
    else made.features = features_of(space_, c);
    made.strategy = std::move(c);
    return made;
  }

  /// Trains the ranker with trials of this cluster, `own`, and of other clusters, `others`.
  /// AutoDist's rankers go on from the weights that they have.
  void fit(std::vector<trial> const& own, std::vector<trial> const& others) {
    if (kind_ == ranker_kind::corrected) return corrected_.fit(own, others);
    if (kind_ == ranker_kind::recurrent) {
      if (own.size() < 2) return;
      for (auto k = variables_.size(); k < own.size(); ++k)
        variables_.push_back(features_of(space_, own[k].strategy).variables);
      fit_ranker(recurrent_, variables_, seconds_of(own), how_);
      is_trained_ = true;
      return;
    }
    if (!has_seen_others_) fit_to_spaces(others);
    has_seen_others_ = true;
    if (own.size() >= 2) fit_to(own);
  }

  /// Returns the score of a candidate. A higher score means a faster step.
  double score(described_candidate const& c) const {
    if (kind_ == ranker_kind::corrected) return corrected_.score(c.predicted);
    if (!is_trained_) return -std::log(std::max(transmission_seconds(c.features), 1e-30));
    switch (kind_) {
      case ranker_kind::linear: return linear_.score(scaling_(c.features.totals));
      case ranker_kind::perceptron: return perceptron_.score(scaling_(c.features.totals));
      default: return recurrent_.score(c.features.variables);
    }
  }

  /// Returns the numbers of at most `count` candidates that are to be measured next. `list` must be
  /// in the order of the scores, the best first. The corrected ranker chooses by confidence bounds.
  /// The others choose greedily, as AutoTVM does (Chen et al., NeurIPS 2018). To the score, scaled
  /// to 0 .. 1, they add `diversity` times the share of parameters with a new strategy: one that no
  /// candidate chosen so far gives to this parameter.
  std::vector<std::size_t> choose(std::vector<described_candidate> const& list, int count,
                                  double diversity) const {
    if (kind_ == ranker_kind::corrected) {
      std::vector<price> prices;
      for (auto const& c : list) prices.push_back(c.predicted);
      return corrected_.choose(prices, count);
    }
    std::vector<std::vector<bool>> covered;
    for (auto const& p : space_.parameters()) covered.emplace_back(p.strategies.size(), false);
    std::vector<std::size_t> chosen;
    std::vector<bool> is_chosen(list.size(), false);
    while (static_cast<int>(chosen.size()) < count && chosen.size() < list.size()) {
      auto best = list.size();
      double best_value = 0;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (is_chosen[i]) continue;
        double fresh = 0;
        for (std::size_t k = 0; k < covered.size(); ++k)
          fresh += covered[k][pick(list[i], k)] ? 0 : 1 / double(covered.size());
        double const least = list.back().score, range = list.front().score - least;
        double const value = (range > 0 ? (list[i].score - least) / range : 0) + diversity * fresh;
        if (best == list.size() || value > best_value) best = i, best_value = value;
      }
      is_chosen[best] = true;
      chosen.push_back(best);
      for (std::size_t k = 0; k < covered.size(); ++k) covered[k][pick(list[best], k)] = true;
    }
    return chosen;
  }

 private:
  static std::size_t pick(described_candidate const& c, std::size_t parameter) {
    return static_cast<std::size_t>(c.strategy.picks[parameter]);
  }

  static std::vector<double> seconds_of(std::vector<trial> const& list) {
    std::vector<double> seconds;
    for (auto const& t : list) seconds.push_back(t.seconds);
    return seconds;
  }

  void fit_to(std::vector<trial> const& list) {
    std::vector<strategy_totals> x;
    for (auto const& t : list) x.push_back(t.totals);
    scaling_ = scaling::of(x);
    for (auto& it : x) it = scaling_(it);
    if (kind_ == ranker_kind::linear) fit_ranker(linear_, x, seconds_of(list), how_);
    else fit_ranker(perceptron_, x, seconds_of(list), how_);
    is_trained_ = true;
  }

  /// Trains the ranker with the trials of one space (trial::space) at a time, since trials of
  /// different spaces cannot be compared with each other.
  void fit_to_spaces(std::vector<trial> list) {
    while (!list.empty()) {
      std::vector<trial> of_one, rest;
      for (auto const& t : list) (t.space == list[0].space ? of_one : rest).push_back(t);
      if (of_one.size() >= 2) fit_to(of_one);
      list = std::move(rest);
    }
  }

  strategy_space const& space_;
  ranker_kind kind_;
  fit_options how_;
  corrected_ranker corrected_;
  linear_ranker linear_;
  mlp_ranker perceptron_;
  lstm_ranker recurrent_;
  scaling scaling_;
  bool is_trained_ = false, has_seen_others_ = false;
  std::vector<std::vector<sparse_features>> variables_;  // features of the trials of this space
};

}  // namespace ashlar::sync
