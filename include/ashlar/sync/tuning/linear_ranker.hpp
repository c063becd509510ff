// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The rankers of AutoDist's reference code on the twelve totals of a candidate
// (strategy_features.hpp):
//
//   linear_ranker   w · z + b
//   mlp_ranker      v · elu(W z + a) + b, one hidden layer
//
// z are the totals minus their means over the trials, divided by their standard deviations
// (scaling). Totals that are equal in all trials become 0.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <ashlar/search/draws.hpp>
#include <ashlar/sync/tuning/trial.hpp>

namespace ashlar::sync {

/// Brings features to mean 0 and standard deviation 1.
struct scaling {
  strategy_totals mean{}, factor{};

  static scaling of(std::vector<strategy_totals> const& all) {
    scaling s;
    double const n = all.empty() ? 1 : double(all.size());
    for (std::size_t k = 0; k < s.mean.size(); ++k) {
      for (auto const& x : all) s.mean[k] += x[k] / n;
      double variance = 0;
      for (auto const& x : all) variance += (x[k] - s.mean[k]) * (x[k] - s.mean[k]) / n;
      bool const varies = variance > 1e-18 * s.mean[k] * s.mean[k];
      s.factor[k] = varies ? 1 / std::sqrt(variance) : 0;
    }
    return s;
  }

  strategy_totals operator()(strategy_totals x) const {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = (x[k] - mean[k]) * factor[k];
    return x;
  }
};

/// Returns `size` numbers that are uniformly distributed between -most and most.
inline std::vector<double> random_weights(std::size_t size, double most, std::uint64_t seed) {
  search::detail::draws random(seed);
  std::vector<double> made(size);
  for (auto& w : made) w = most * (2 * random.uniform() - 1);
  return made;
}

class linear_ranker {
 public:
  std::vector<double>& weights() { return weights_; }
  double score(strategy_totals const& z) const {
    double sum = weights_.back();
    for (std::size_t k = 0; k < z.size(); ++k) sum += weights_[k] * z[k];
    return sum;
  }
  void add_gradient(strategy_totals const& z, double slope, std::vector<double>& gradient) const {
    for (std::size_t k = 0; k < z.size(); ++k) gradient[k] += slope * z[k];
    gradient.back() += slope;
  }

 private:
  std::vector<double> weights_ = std::vector<double>(std::tuple_size_v<strategy_totals> + 1, 0);
};

class mlp_ranker {
 public:
  explicit mlp_ranker(std::uint64_t seed, std::size_t hidden = 16)
      : hidden_(hidden), weights_(random_weights(hidden * (inputs + 2) + 1, 0.3, seed)) {}

  std::vector<double>& weights() { return weights_; }

  double score(strategy_totals const& z) const {
    double sum = weights_.back();
    for (std::size_t h = 0; h < hidden_; ++h) {
      double const a = before(z, h);
      sum += outer(h) * (a > 0 ? a : std::expm1(a));
    }
    return sum;
  }

  void add_gradient(strategy_totals const& z, double slope, std::vector<double>& gradient) const {
    for (std::size_t h = 0; h < hidden_; ++h) {
      double const a = before(z, h);
      double const inner = slope * outer(h) * (a > 0 ? 1 : std::exp(a));
      double* const row = gradient.data() + h * (inputs + 2);
      for (std::size_t k = 0; k < inputs; ++k) row[k] += inner * z[k];
      row[inputs] += inner;
      row[inputs + 1] += slope * (a > 0 ? a : std::expm1(a));
    }
    gradient.back() += slope;
  }

 private:
  static constexpr std::size_t inputs = std::tuple_size_v<strategy_totals>;

  // weights_ has for each hidden unit the weights of its inputs, its bias, and its weight in the
  // score. The bias of the score is last.
  double before(strategy_totals const& z, std::size_t h) const {
    double const* const row = weights_.data() + h * (inputs + 2);
    double sum = row[inputs];
    for (std::size_t k = 0; k < inputs; ++k) sum += row[k] * z[k];
    return sum;
  }
  double outer(std::size_t h) const { return weights_[h * (inputs + 2) + inputs + 1]; }

  std::size_t hidden_;
  std::vector<double> weights_;
};

}  // namespace ashlar::sync
