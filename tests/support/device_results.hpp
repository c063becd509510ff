// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers of device_operators.hpp. They create device tensors with known values, and measure how
// far results are from their expected values.

#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>
#include <support/dense.hpp>
#include <support/device_operators.hpp>
#include <support/naive_placement.hpp>
#include <support/to_shape.hpp>
#include <support/worse_gap.hpp>

#include <ashlar/support/bfloat16.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar_test {

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
  auto const lying = ashlar::from_full<Rank>(m, to_shape(x.extents), whole,
                                             std::span<T const>(values));
  using tensor = ashlar::tensor<T, Rank, ashlar::dynamic, ashlar::cuda::processor>;
  return tensor(m, lying.extents(), p, lying.shard());
}

/// The tolerance for results that were computed in accumulation_t<T> and rounded to T once.
template <class T>
inline constexpr double rounding = std::is_same_v<T, ashlar::bfloat16> ? 8e-3 : 1e-5;

/// Returns all values of the tensor x. If x is a number, returns a list of this number.
template <class Result>
auto all_values(Result const& x) {
  if constexpr (std::is_arithmetic_v<Result>) return std::vector<Result>{x};
  else return ashlar::to_full(x);
}

template <class Result>
double distance_to(Result const& x, std::vector<double> const& expected) {
  auto const values = all_values(x);
  if (values.size() != expected.size()) return 1e30;
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const v = static_cast<double>(values[i]);
    double const gap = v == expected[i] ? 0 : std::abs(v - expected[i]) / (1 + std::abs(v));
    most = worse_gap(most, gap);
  }
  return most;
}

/// Calls operators. For each operator, counts the calls that return a result and the calls whose
/// result is wrong.
class operator_calls {
 public:
  /// `refusal` is a text that occurs in the messages with which the operators refuse placements,
  /// and in no other message.
  explicit operator_calls(std::string refusal = "; failing axis: ")
      : refusal_(std::move(refusal)) {}

  /// Calls run() and compares its result with the expected values. The result is a tensor or a
  /// number that every rank has. A call that refuses the placement of an operand is not counted.
  /// All other errors are rethrown.
  template <class Operator>
  void check(char const* name, std::vector<double> const& expected, double tolerance,
             Operator const& run) {
    count& calls = counts_[name];
    try {
      auto const y = run();
      ++calls.done;
      if (!(distance_to(y, expected) <= tolerance)) ++calls.wrong;
    } catch (ashlar::error const& e) {
      if (std::string(e.what()).find(refusal_) == std::string::npos) throw;
    }
  }

  /// Checks that each operator accepted at least one placement, and had no wrong result.
  void report() const {
    CHECK(!counts_.empty());
    for (auto const& entry : counts_) {
      auto const& name = entry.first;
      auto const& calls = entry.second;
      CHECK_MESSAGE(calls.done > 0, name << " refused every placement");
      CHECK_MESSAGE(calls.wrong == 0, name << " has wrong results");
    }
  }

 private:
  struct count {
    int done = 0, wrong = 0;
  };
  std::string refusal_;
  std::map<std::string, count> counts_;
};

/// Returns the reduction of matrix x over dim d.
inline std::vector<double> reduced(dense const& x, int d, reduction op) {
  std::vector<double> y(static_cast<std::size_t>(x.extent(1 - d)), ashlar::identity_of<double>(op));
  for_each_index(x.extents, [&](index const& i) {
    double& v = y[static_cast<std::size_t>(i[static_cast<std::size_t>(1 - d)])];
    v = combine(op, v, x(i));
  });
  return y;
}

template <class F>
std::vector<double> mapped(std::vector<double> x, F const& f) {
  for (double& v : x) v = f(v);
  return x;
}

}  // namespace ashlar_test
