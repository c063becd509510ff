// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Shared by the tests of device code: reproducible values and central finite differences.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <support/worse_gap.hpp>

#include <ashlar/device/normal.hpp>

namespace ashlar::test {

inline std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

/// Returns n standard normal deviates of the given random stream.
template <class T>
std::vector<T> normals(std::int64_t n, std::uint64_t stream) {
  std::vector<T> values(size_of(n));
  for (std::int64_t i = 0; i < n; ++i) values[size_of(i)] = device::normal<T>(17, stream, i);
  return values;
}

template <class T>
double dot(std::vector<T> const& a, std::vector<T> const& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return total;
}

/// Returns the largest difference |actual - expected| / (1 + |expected|). Returns infinity for NaN
/// or for different sizes.
template <class T>
double distance(std::vector<T> const& actual, std::vector<T> const& expected) {
  if (actual.size() != expected.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    double const wanted = static_cast<double>(expected[i]);
    double const gap = std::abs(static_cast<double>(actual[i]) - wanted) / (1 + std::abs(wanted));
    worst = ashlar_test::worse_gap(worst, gap);
  }
  return worst;
}

/// Computes the gradient of the scalar f() with respect to x by central differences.
template <class F>
std::vector<double> numeric_gradient(std::vector<double>& x, F f) {
  std::vector<double> gradient(x.size());
  double const step = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const kept = x[i];
    x[i] = kept + step;
    double const above = f();
    x[i] = kept - step;
    double const below = f();
    x[i] = kept;
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

}  // namespace ashlar::test
