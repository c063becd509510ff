// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Trains a ranker: a function with weights that gives each candidate a score, which is higher for
// faster steps. A ranker has
//
//   weights()                         its weights, std::vector<double>&
//   score(x)                          the score of the features of a candidate
//   add_gradient(x, slope, gradient)  adds slope times the derivatives of the score with respect to
//                                     the weights
//
// The loss is the pairwise logistic loss within batches (pairwise_loss.hpp), and the optimizer is
// Adam (Kingma and Ba, ICLR 2015). The result depends only on the data, the options and the seed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/search/draws.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/sync/tuning/pairwise_loss.hpp>

namespace ashlar::sync {

struct fit_options {
  int epochs = 100;
  double rate = 0.01;      ///< the learning rate of Adam
  std::size_t batch = 96;  ///< the most candidates that are compared with each other
  double decay = 1e-4;     ///< weight decay per unit of the learning rate (AdamW)
  std::uint64_t seed = 1;
};

/// Adam with decoupled weight decay.
class adam {
 public:
  adam(std::size_t size, double rate, double decay)
      : rate_(rate), decay_(decay), mean_(size, 0), square_(size, 0) {}

  void step(std::vector<double>& weights, std::vector<double> const& gradient) {
    constexpr double b1 = 0.9, b2 = 0.999;
    ++steps_;
    double const c1 = 1 - std::pow(b1, steps_), c2 = 1 - std::pow(b2, steps_);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      mean_[k] = b1 * mean_[k] + (1 - b1) * gradient[k];
      square_[k] = b2 * square_[k] + (1 - b2) * gradient[k] * gradient[k];
      weights[k] -= rate_ *
                    (mean_[k] / c1 / (std::sqrt(square_[k] / c2) + 1e-8) + decay_ * weights[k]);
    }
  }

 private:
  double rate_, decay_;
  int steps_ = 0;
  std::vector<double> mean_, square_;
};

/// Trains a ranker to give the candidates with features `x` the order of their measured seconds.
/// Starts from the weights that the ranker has. Expects lists of the same size. Throws
/// ashlar::error if a batch has no candidates.
template <class Ranker, class Features>
void fit_ranker(Ranker& ranker, std::vector<Features> const& x, std::vector<double> const& seconds,
                fit_options const& o = {}) {
  if (o.batch == 0)
    throw error("sync::fit_ranker", "a batch has no candidates. Write 1 or more for batch.");
  std::vector<std::size_t> order(x.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  search::detail::draws random(o.seed);
  adam optimizer(ranker.weights().size(), o.rate, o.decay);
  for (int epoch = 0; epoch < o.epochs; ++epoch) {
    for (int k = static_cast<int>(order.size()); k > 1; --k)
      std::swap(order[static_cast<std::size_t>(k - 1)],
                order[static_cast<std::size_t>(random.below(k))]);
    for (std::size_t begin = 0; begin < order.size(); begin += o.batch) {
      auto const end = std::min(order.size(), begin + o.batch);
      std::vector<double> scores, times;
      for (std::size_t k = begin; k < end; ++k) {
        scores.push_back(ranker.score(x[order[k]]));
        times.push_back(seconds[order[k]]);
      }
      auto const loss = pairwise_loss(scores, times);
      std::vector<double> gradient(ranker.weights().size(), 0);
      for (std::size_t k = begin; k < end; ++k)
        ranker.add_gradient(x[order[k]], loss.gradient[k - begin], gradient);
      optimizer.step(ranker.weights(), gradient);
    }
  }
}

}  // namespace ashlar::sync
