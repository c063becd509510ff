// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/dropout.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

TEST_CASE_TEMPLATE("dropout_drops_by_global_index_however_the_run_is_cut", T, float, double) {
  std::int64_t const n = 1000;
  auto const x = normals<T>(n, 1);
  std::vector<T> whole(x.size());
  host::dropout_forward(x.data(), n, 0.3, 7, 8, 5, whole.data());
  for (std::int64_t i = 0; i < n; ++i) {
    bool const kept = ashlar::device::uniform<double>(7, 8, 5 + i) >= 0.3;
    T const expected = kept ? x[size_of(i)] * static_cast<T>(1 / 0.7) : T(0);
    CHECK(whole[size_of(i)] == expected);
  }
  auto pieces = x;
  std::int64_t at = 0;
  for (std::int64_t length : {0, 1, 2, 255, 256, 257, 229}) {
    host::dropout_forward(pieces.data() + at, length, 0.3, 7, 8, 5 + at, pieces.data() + at);
    at += length;
  }
  CHECK(at == n);
  CHECK(pieces == whole);
}

TEST_CASE("dropout_backward_uses_the_mask_of_the_forward_pass") {
  std::int64_t const n = 513;
  std::vector<double> const ones(size_of(n), 1.0);
  std::vector<double> y(size_of(n));
  std::vector<double> dx(size_of(n));
  host::dropout_forward(ones.data(), n, 0.5, 1, 2, 3, y.data());
  host::dropout_backward(ones.data(), n, 0.5, 1, 2, 3, dx.data());
  CHECK(y == dx);
}

TEST_CASE("dropout_keeps_the_mean_and_everything_at_zero") {
  std::int64_t const n = 200000;
  std::vector<float> const ones(size_of(n), 1.0f);
  std::vector<float> y(size_of(n));
  host::dropout_forward(ones.data(), n, 0.1, 1, 2, 0, y.data());
  double sum = 0;
  for (float value : y) sum += static_cast<double>(value);
  CHECK(std::abs(sum / static_cast<double>(n) - 1) < 0.005);
  host::dropout_forward(ones.data(), n, 0.0, 1, 2, 0, y.data());
  CHECK(y == ones);
  CHECK_THROWS_AS(host::dropout_forward(ones.data(), 1, 1.0, 1, 2, 0, y.data()),
                  std::invalid_argument);
  CHECK_THROWS_AS(host::dropout_forward(ones.data(), 1, std::nan(""), 1, 2, 0, y.data()),
                  std::invalid_argument);
}
