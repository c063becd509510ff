// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/function.hpp>
#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>

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
    double squares = 0;
    T largest = -std::numeric_limits<T>::infinity();
    for (T value : x) {
      squares += static_cast<double>(value) * static_cast<double>(value);
      largest = value > largest ? value : largest;
    }
    CHECK(host::sum_of_squares(x.data(), n) == squares);
    T const* const first = x.data();
    CHECK(host::reduce_max<T>(n, [first](std::int64_t i) { return first[i]; }) == largest);
  }
}

TEST_CASE("a_sum_of_squares_in_double_does_not_overflow_or_stall_in_float_range") {
  std::vector<float> const x(1 << 20, 1e25f);
  CHECK(host::sum_of_squares(x.data(), 1 << 20) == doctest::Approx(0x1p20 * 1e50));
  float const bad = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(host::sum_of_squares(&bad, 1)));
}

TEST_CASE_TEMPLATE("sums, differences and products of integers wrap around", T, std::int32_t,
                   std::int64_t) {
  // UndefinedBehaviorSanitizer would report an overflow of signed integers in the library.
  namespace device = ashlar::device;
  T const most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  std::vector<T> const x{most, least, 3}, y{2, 2, 4};
  using values = std::vector<T>;
  auto const pairs = [&](auto const& f) {
    values z(3);
    host::map(x.data(), y.data(), 3, z.data(), f);
    return z;
  };
  auto const each = [&](auto const& f) {
    values z(3);
    host::map(x.data(), 3, z.data(), f);
    return z;
  };
  CHECK(pairs(device::sum_of{}) == values{least + 1, least + 2, 7});
  CHECK(pairs(device::difference_of{}) == values{most - 2, most - 1, -1});
  CHECK(pairs(device::product_of{}) == values{-2, 0, 12});
  CHECK(pairs(device::scaled_sum<T>{3}) == values{least + 5, least + 6, 15});
  CHECK(each(device::scaled<T>{2}) == values{-2, 0, 6});
  CHECK(each(device::shifted<T>{2}) == values{least + 1, least + 2, 5});
  CHECK(each(device::lowered<T>{2}) == values{most - 2, most - 1, 1});
  CHECK(each(device::subtracting<T>{-2}) == values{most, most - 1, -5});
  CHECK(each(device::negated{}) == values{least + 1, least, -3});
  CHECK(each(device::value_of<device::magnitude>{}) == values{most, least, 3});
  CHECK(host::combine<ashlar::reduction::sum>(most, T(2)) == least + 1);
  auto z = x;
  host::add_inplace(y.data(), 3, z.data());
  CHECK(z == values{least + 1, least + 2, 7});
  z = x;
  host::scale_inplace(2, 3, z.data());
  CHECK(z == values{-2, 0, 6});
}

TEST_CASE("the_gradient_of_the_logarithm_is_finite_where_its_derivative_is_not") {
  float const x = 1.2e-39f;  // 1 / x is above the largest float
  ashlar::device::gradient_of<ashlar::device::natural_log> const gradient;
  CHECK(gradient(x, 0.0f) == 0);
  CHECK(gradient(x, 1e-5f) == doctest::Approx(1e-5 / 1.2e-39));
}
