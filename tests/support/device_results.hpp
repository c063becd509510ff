// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers of device_operators.hpp. They create device tensors with known values, and measure how
// far results are from their expected values.

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <support/dense.hpp>
#include <support/device_operators.hpp>
#include <support/naive_placement.hpp>
#include <support/worse_gap.hpp>

#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar_test {

inline ashlar::shape as_shape(index const& extents) {
  ashlar::shape s;
  for (int const e : extents) s.extent.push_back(e);
  return s;
}

inline dense small_integers(index extents, unsigned seed) {
  std::mt19937 random(seed);
  return random_integers(random, std::move(extents), -3, 3);
}

/// Returns a tensor with the values of x and the placement p. If p has partial axes, the ranks
/// along these axes hold different addends, which sum to x.
template <class T, int Rank>
auto put(device_mesh const& m, dense const& x, placement const& p) {
  std::vector<T> values;
  int among = 1, mine = 0;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) {
      mine = mine * m.topology().axis[a].extent + m.coordinate()[static_cast<std::size_t>(a)];
      among *= m.topology().axis[a].extent;
    }
  for (double const v : x.values)
    values.push_back(static_cast<T>(mine > 0 ? mine : v - among * (among - 1) / 2));
  placement whole = p;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) whole.axis[a] = ashlar::broadcast();
  auto const lying = ashlar::from_full<Rank>(m, as_shape(x.extents), whole,
                                             std::span<T const>(values));
  using tensor = ashlar::tensor<T, Rank, ashlar::dynamic, ashlar::cuda::processor>;
  return tensor(m, lying.extents(), p, lying.shard());
}

template <class Tensor>
double distance_to(Tensor const& x, std::vector<double> const& expected) {
  auto const values = ashlar::to_full(x);
  if (values.size() != expected.size()) return 1e30;
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const v = static_cast<double>(values[i]);
    double const gap = v == expected[i] ? 0 : std::abs(v - expected[i]) / (1 + std::abs(v));
    most = worse_gap(most, gap);
  }
  return most;
}

/// Counts the operator calls that return, and how many of these calls have wrong results. A call
/// that throws ashlar::error is not counted. An error whose message names nccl is rethrown.
struct operator_count {
  int done = 0, wrong = 0;

  template <class Operator>
  void check(std::vector<double> const& expected, double enough, Operator const& run) {
    try {
      auto const y = run();
      ++done;
      if (!(distance_to(y, expected) <= enough)) ++wrong;
    } catch (ashlar::error const& e) {
      if (std::string(e.what()).find("nccl") != std::string::npos) throw;
    }
  }
};

template <class F>
std::vector<double> mapped(std::vector<double> x, F const& f) {
  for (double& v : x) v = f(v);
  return x;
}

}  // namespace ashlar_test
