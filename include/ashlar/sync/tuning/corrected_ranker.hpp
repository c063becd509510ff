// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Ranks candidates by predicted seconds times a learned correction:
//
//   seconds = predicted · exp(w · influences + constant)
//
// So only log(measured / predicted) is learned, by ridge regression. The constant does not change
// the ranking and is not penalized. Trials of other clusters come first: w is fitted to them, and
// then drawn towards the result when it is fitted to the trials of this cluster:
//
//   minimize   sum over the trials of (log(measured / predicted) - constant - w · influences)²
//              + λ |w - w0|²
//
// Both w0 (the result of other clusters, or 0) and λ are those with the least squared error of
// leave-one-out cross-validation. The choices of λ contain infinity with w0 = 0, which is the
// prediction as it is. So the correction is used only where it has predicted trials that it was not
// fitted to. This needs four trials or more.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <ashlar/sync/tuning/trial.hpp>

namespace ashlar::sync {

namespace detail {

/// Ridge regression of trials around given weights.
class ridge {
 public:
  /// Subtracts from every trial the mean over the trials of its space.
  explicit ridge(std::vector<trial> const& list) {
    for (auto const& t : list) {
      row sum;
      double count = 0;
      for (auto const& other : list) {
        if (other.space != t.space) continue;
        for (std::size_t k = 0; k < n; ++k) sum.x[k] += other.slopes[k];
        sum.y += std::log(other.seconds / other.predicted);
        ++count;
      }
      row r;
      for (std::size_t k = 0; k < n; ++k) r.x[k] = t.slopes[k] - sum.x[k] / count;
      r.y = std::log(t.seconds / t.predicted) - sum.y / count;
      r.leverage = 1 / count;
      rows_.push_back(r);
    }
  }

  /// Returns the weights for a finite or infinite λ. In `error` it returns the mean squared error
  /// of leave-one-out cross-validation: e / (1 - leverage) for each residual e.
  influences weights(influences const& around, double lambda, double& error) const {
    influences w = around;
    matrix lower{};
    if (std::isfinite(lambda)) {
      influences right{};
      for (auto const& r : rows_) {
        double const rest = r.y - dot(around, r.x);
        for (std::size_t i = 0; i < n; ++i) {
          right[i] += r.x[i] * rest;
          for (std::size_t k = 0; k <= i; ++k) lower[i][k] += r.x[i] * r.x[k];
        }
      }
      for (std::size_t i = 0; i < n; ++i) lower[i][i] += lambda;
      factorize(lower);
      auto const change = solved(lower, right);
      for (std::size_t i = 0; i < n; ++i) w[i] += change[i];
    }
    error = 0;
    for (auto const& r : rows_) {
      double const own = std::isfinite(lambda) ? dot(r.x, solved(lower, r.x)) : 0;
      double const e = (r.y - dot(w, r.x)) / std::max(1 - r.leverage - own, 1e-9);
      error += e * e / double(rows_.size());
    }
    return w;
  }

  static double dot(influences const& a, influences const& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
  }

 private:
  static constexpr std::size_t n = influences_size;
  using matrix = std::array<std::array<double, n>, n>;
  struct row {
    influences x{};
    double y = 0, leverage = 0;
  };

  /// Replaces a positive definite matrix by its Cholesky factor.
  static void factorize(matrix& a) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        double sum = a[i][k];
        for (std::size_t j = 0; j < k; ++j) sum -= a[i][j] * a[k][j];
        a[i][k] = i == k ? std::sqrt(sum) : sum / a[k][k];
      }
  }
  static influences solved(matrix const& lower, influences x) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= lower[i][k] * x[k];
      x[i] /= lower[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) x[i] -= lower[k][i] * x[k];
      x[i] /= lower[i][i];
    }
    return x;
  }

  std::vector<row> rows_;
};

}  // namespace detail

class corrected_ranker {
 public:
  /// Learns from the trials of this cluster, and from those of others.
  void fit(std::vector<trial> const& own, std::vector<trial> const& others) {
    influences const none{};
    influences const earlier = others.size() < least ? none : best_of(others, {none});
    if (own.size() < least) weights_ = earlier;
    else if (others.size() < least) weights_ = best_of(own, {none});
    else weights_ = best_of(own, {none, earlier});
  }

  /// Returns log(measured / predicted) up to a constant.
  double correction(influences const& slopes) const { return detail::ridge::dot(weights_, slopes); }

  /// Returns the score of a candidate; a higher score means a faster step.
  double score(double predicted, influences const& slopes) const {
    return -std::log(predicted) - correction(slopes);
  }

  /// The learned logarithms of the factors between true and assumed figures of the machine.
  influences const& weights() const { return weights_; }

 private:
  static constexpr std::size_t least = 4;

  static influences best_of(std::vector<trial> const& list, std::vector<influences> const& around) {
    detail::ridge const data(list);
    influences best{};
    double least_error = std::numeric_limits<double>::infinity();
    for (auto const& w0 : around)
      for (double const lambda :
           {std::numeric_limits<double>::infinity(), 1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5}) {
        double error = 0;
        auto const w = data.weights(w0, lambda, error);
        if (error < least_error * (1 - 1e-9)) least_error = error, best = w;
      }
    return best;
  }

  influences weights_{};
};

}  // namespace ashlar::sync
