// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Ridge regression (Hoerl and Kennard, 1970) of log(measured / predicted) of trials on the
// influences of the machine's figures, around given weights w0:
//
//   minimize  sum over the trials of (log(measured / predicted) - constant - w · influences)²
//             + λ |w - w0|²
//
// Each cluster has a constant of its own, which is not penalized. In the Bayesian reading, trials
// are off by σ and weights by σ / sqrt(λ). Then σ · deviation(x) is the standard deviation of the
// correction of a candidate with influences x. If the equations cannot be solved in floating point,
// the weights are w0 and the deviations 0.

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <ashlar/sync/tuning/trial.hpp>

namespace ashlar::sync {

constexpr double dot(influences const& a, influences const& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

class ridge {
 public:
  /// `list` has trials of one cluster or of several clusters.
  explicit ridge(std::vector<trial> const& list) {
    for (auto const& t : list)
      for (std::size_t k = 0; k < n; ++k) mean_[k] += t.slopes[k] / double(list.size());
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
      rows_.push_back(r);
    }
  }

  /// Returns the weights w, with w0 = `around` and λ = `penalty`. Expects a positive penalty.
  influences weights(influences const& around, double penalty) const {
    influences right{};
    for (auto const& r : rows_)
      for (std::size_t i = 0; i < n; ++i) right[i] += r.x[i] * (r.y - dot(around, r.x));
    auto w = solved(factor(penalty), right);
    for (std::size_t i = 0; i < n; ++i) w[i] += around[i];
    for (double const it : w)
      if (!std::isfinite(it)) return around;
    return w;
  }

  /// Returns the standard deviation of the correction of a candidate with influences `x`, divided
  /// by σ. Expects trials of one cluster.
  double deviation(influences x, double penalty) const {
    for (std::size_t k = 0; k < n; ++k) x[k] -= mean_[k];
    double const square = dot(x, solved(factor(penalty), x));
    return std::isfinite(square) && square > 0 ? std::sqrt(square) : 0;
  }

  /// Counts a candidate as a trial, although it has not been measured yet.
  void add(influences x) {
    for (std::size_t k = 0; k < n; ++k) x[k] -= mean_[k];
    rows_.push_back({x, 0});
  }

 private:
  static constexpr std::size_t n = influences_size;
  using matrix = std::array<std::array<double, n>, n>;
  struct row {
    influences x{};
    double y = 0;
  };

  /// Returns the Cholesky factor of the matrix that is the sum of x x' over all rows, with
  /// `penalty` added to each element of the diagonal.
  matrix factor(double penalty) const {
    matrix a{};
    for (auto const& r : rows_)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k <= i; ++k) a[i][k] += r.x[i] * r.x[k];
    for (std::size_t i = 0; i < n; ++i) a[i][i] += penalty;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        double sum = a[i][k];
        for (std::size_t j = 0; j < k; ++j) sum -= a[i][j] * a[k][j];
        a[i][k] = i == k ? std::sqrt(sum) : sum / a[k][k];
      }
    return a;
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

  influences mean_{};
  std::vector<row> rows_;
};

}  // namespace ashlar::sync
