// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/map.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

TEST_CASE_TEMPLATE("maps_work_apart_and_in_place_at_every_length", T, float, double) {
  for (std::int64_t n : {0, 1, 7, 31, 32, 33, 1000}) {
    auto const a = normals<T>(n, 1);
    auto const b = normals<T>(n, 2);
    std::vector<T> twice(size_of(n));
    std::vector<T> difference(size_of(n));
    std::vector<T> zero(size_of(n));
    for (std::size_t i = 0; i < a.size(); ++i) {
      twice[i] = T(2) * a[i];
      difference[i] = a[i] - b[i];
    }
    auto const minus = [](T x, T y) { return x - y; };
    std::vector<T> y(size_of(n));
    host::map(a.data(), n, y.data(), [](T x) { return T(2) * x; });
    CHECK(y == twice);
    y = a;
    host::map(y.data(), n, y.data(), [](T x) { return T(2) * x; });
    CHECK(y == twice);
    host::map(a.data(), b.data(), n, y.data(), minus);
    CHECK(y == difference);
    y = a;
    host::map(y.data(), b.data(), n, y.data(), minus);
    CHECK(y == difference);
    y = b;
    host::map(a.data(), y.data(), n, y.data(), minus);
    CHECK(y == difference);
    y = a;
    host::map(y.data(), y.data(), n, y.data(), minus);
    CHECK(y == zero);
    y = a;
    host::axpy(-1, b.data(), n, y.data());
    CHECK(distance(y, difference) < 1e-6);
    y = difference;
    host::add_inplace(b.data(), n, y.data());
    CHECK(distance(y, a) < 1e-6);
    y = a;
    host::scale_inplace(2, n, y.data());
    CHECK(y == twice);
    host::fill(0, n, y.data());
    CHECK(y == zero);
  }
}

TEST_CASE_TEMPLATE("reductions_are_exact_on_integers_at_every_length", T, float, double) {
  for (std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 1000}) {
    std::vector<T> x(size_of(n));
    for (std::int64_t i = 0; i < n; ++i) x[size_of(i)] = static_cast<T>(i % 17 - 20);
    double sum = 0;
    double squares = 0;
    T largest = -std::numeric_limits<T>::infinity();
    for (T value : x) {
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
      largest = value > largest ? value : largest;
    }
    CHECK(host::sum(x.data(), n) == sum);
    CHECK(host::sum_of_squares(x.data(), n) == squares);
    CHECK(host::maximum(x.data(), n) == largest);
  }
}

TEST_CASE("a_sum_of_squares_in_double_does_not_overflow_or_stall_in_float_range") {
  std::vector<float> const x(1 << 20, 1e25f);
  CHECK(host::sum_of_squares(x.data(), 1 << 20) == doctest::Approx(0x1p20 * 1e50));
  float const bad = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(host::sum_of_squares(&bad, 1)));
}
