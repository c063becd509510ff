// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Input values and tolerances for the kernel cases. The values are exact both in T and in the
// accumulation type of the host's reference.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <ashlar/support/accumulation.hpp>

#include "unit/device_reference.hpp"

namespace ashlar_test {

using ashlar::accumulation_t;
using ashlar::bfloat16;
using ashlar::test::size_of;

/// Returns normal deviates, rounded to T.
template <class T>
std::vector<T> values_of(std::int64_t n, std::uint64_t stream) {
  auto const wide = ashlar::test::normals<accumulation_t<T>>(n, stream);
  std::vector<T> values;
  for (auto const v : wide) values.push_back(static_cast<T>(v));
  return values;
}

/// Converts values to the accumulation type, in which the reference computes.
template <class T>
std::vector<accumulation_t<T>> wide(std::vector<T> const& values) {
  std::vector<accumulation_t<T>> result;
  for (T const v : values) result.push_back(static_cast<accumulation_t<T>>(v));
  return result;
}

/// Returns the largest difference |actual - expected| / (1 + |expected|). Returns infinity for NaN
/// or for different sizes.
template <class T, class A>
double gap(std::vector<T> const& actual, std::vector<A> const& expected) {
  return ashlar::test::distance(wide(actual), wide(expected));
}

/// Returns the tolerance for results of type T. This tolerance is sufficient for sums of some
/// hundred values.
template <class T>
constexpr double tolerance() {
  if (std::is_same_v<T, double>) return 1e-12;
  return std::is_same_v<T, float> ? 1e-5 : 8e-3;
}

}  // namespace ashlar_test
