// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the index of an extremum along a dim, and cumulative sums along a dim, with direct
// definitions. The cases include bfloat16 and NaN.

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/along_dim.hpp>

namespace ashlar_test {
namespace {

namespace host = ashlar::device::host;

/// Returns element [o, k, i] of x, which has the shape [2, 3, 2].
template <class T>
T at(std::vector<T> const& x, std::size_t o, std::size_t k, std::size_t i) {
  return x[(o * 3 + k) * 2 + i];
}

}  // namespace

TEST_CASE("the index of an extremum is the first one, and a NaN is one") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const x{1, 5, 3, 5, 3, 2, -1, nan, -2, 4, nan, nan};
  std::vector<std::int32_t> y(4);
  host::index_of_extremum<ashlar::reduction::max>(x.data(), 2, 3, 2, y.data());
  CHECK(y == std::vector<std::int32_t>{1, 0, 2, 0});
  host::index_of_extremum<ashlar::reduction::min>(x.data(), 2, 3, 2, y.data());
  CHECK(y == std::vector<std::int32_t>{0, 2, 2, 0});
}

TEST_CASE("cumulative sums are rounded once each, and may be written in place") {
  using ashlar::bfloat16;
  std::vector<bfloat16> x;
  for (int i = 0; i < 12; ++i)
    x.push_back(bfloat16(i == 0 ? 256.0f : 0.75f * static_cast<float>(i)));
  auto const before = x;
  std::vector<float> sums(2);
  host::cumulative_sum(before.data(), 2, 3, 2, false, sums.data(), x.data());
  for (std::size_t o = 0; o < 2; ++o)
    for (std::size_t i = 0; i < 2; ++i) {
      float sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        sum += static_cast<float>(at(before, o, k, i));
        CHECK(at(x, o, k, i) == bfloat16(sum));
      }
    }
  std::vector<std::int32_t> n{1, 2, 3, 2147483647};
  std::int32_t total = 0;
  host::cumulative_sum<std::int32_t>(n.data(), 1, 4, 1, false, &total, n.data());
  CHECK(n == std::vector<std::int32_t>{1, 3, 6, -2147483643});
  host::cumulative_sum<std::int32_t>(n.data(), 2, 2, 1, true, &total, n.data());
  CHECK(n == std::vector<std::int32_t>{4, 3, -2147483637, -2147483643});
}

}  // namespace ashlar_test
