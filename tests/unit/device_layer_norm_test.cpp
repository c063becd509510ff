// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/layer_norm.hpp>
#include <ashlar/device/host/layer_norm_backward.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

namespace {

constexpr double epsilon = 1e-5;

template <class T>
std::vector<T> reference(std::vector<T> const& x, std::vector<T> const& gamma,
                         std::vector<T> const& beta, std::int64_t rows, std::int64_t cols) {
  std::vector<T> y(x.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    double mean = 0;
    double variance = 0;
    for (std::int64_t c = 0; c < cols; ++c) mean += static_cast<double>(x[size_of(r * cols + c)]);
    mean /= static_cast<double>(cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      variance += std::pow(static_cast<double>(x[size_of(r * cols + c)]) - mean, 2);
    }
    variance /= static_cast<double>(cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      double const xhat = (static_cast<double>(x[size_of(r * cols + c)]) - mean) /
                          std::sqrt(variance + epsilon);
      y[size_of(r * cols + c)] = static_cast<T>(xhat * static_cast<double>(gamma[size_of(c)]) +
                                                static_cast<double>(beta[size_of(c)]));
    }
  }
  return y;
}

struct shape {
  std::int64_t rows;
  std::int64_t cols;
};

}  // namespace

TEST_CASE_TEMPLATE("layer_norm_equals_the_definition", T, float, double) {
  for (auto [rows, cols] : {shape{0, 8}, shape{3, 1}, shape{4, 31}, shape{2, 64}, shape{5, 515}}) {
    auto const x = normals<T>(rows * cols, 1);
    auto const gamma = normals<T>(cols, 2);
    auto const beta = normals<T>(cols, 3);
    std::vector<T> y(x.size());
    std::vector<T> mean(size_of(rows));
    std::vector<T> rstd(size_of(rows));
    host::layer_norm_forward(x.data(), gamma.data(), beta.data(), rows, cols, T(epsilon), y.data(),
                             mean.data(), rstd.data());
    double const tolerance = cols == 1 ? 1e-3 : (sizeof(T) == 4 ? 2e-5 : 1e-12);
    CHECK(distance(y, reference(x, gamma, beta, rows, cols)) < tolerance);
  }
}

TEST_CASE("layer_norm_gradients_equal_finite_differences_and_parameters_accumulate") {
  std::int64_t const rows = 4;
  std::int64_t const cols = 37;
  auto x = normals<double>(rows * cols, 1);
  auto gamma = normals<double>(cols, 2);
  auto beta = normals<double>(cols, 3);
  auto const dy = normals<double>(rows * cols, 4);
  std::vector<double> y(x.size());
  std::vector<double> mean(size_of(rows));
  std::vector<double> rstd(size_of(rows));
  auto const loss = [&] {
    host::layer_norm_forward(x.data(), gamma.data(), beta.data(), rows, cols, epsilon, y.data(),
                             mean.data(), rstd.data());
    return dot(y, dy);
  };
  loss();
  auto dx = dy;  // layer_norm_backward reads dy here and overwrites it with dx
  std::vector<double> dgamma(size_of(cols), 1.0);
  std::vector<double> dbeta(size_of(cols), 1.0);
  host::layer_norm_backward(dx.data(), x.data(), mean.data(), rstd.data(), gamma.data(), rows, cols,
                            dx.data(), dgamma.data(), dbeta.data());
  for (double& value : dgamma) value -= 1;
  for (double& value : dbeta) value -= 1;
  CHECK(distance(dx, numeric_gradient(x, loss)) < 1e-8);
  CHECK(distance(dgamma, numeric_gradient(gamma, loss)) < 1e-8);
  CHECK(distance(dbeta, numeric_gradient(beta, loss)) < 1e-8);
}

// In float, the spacing of numbers near 4096 is 2^-11, and that near their squares is 2.
TEST_CASE("the_variance_of_rows_with_a_large_mean_is_right") {
  std::int64_t const cols = 768;
  std::vector<float> x(size_of(cols)), gamma(size_of(cols), 1.0f), beta(size_of(cols));
  std::vector<float> y(size_of(cols)), mean(1), rstd(1);
  for (bool const begins_apart : {false, true}) {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] = 4096.0f + static_cast<float>(c % 2);
    if (begins_apart) x[0] = 3000;  // all differences from the first element are large
    host::layer_norm_forward(x.data(), gamma.data(), beta.data(), 1, cols, 1e-5f, y.data(),
                             mean.data(), rstd.data());
    CHECK(distance(y, reference(x, gamma, beta, 1, cols)) < 1e-3);
  }
  std::fill(x.begin(), x.end(), 1e4f / 3);
  host::layer_norm_forward(x.data(), gamma.data(), beta.data(), 1, cols, 1e-5f, y.data(),
                           mean.data(), rstd.data());
  for (float const each : y) CHECK(each == 0);
}
