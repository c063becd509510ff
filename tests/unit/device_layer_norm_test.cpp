// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

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

TEST_CASE("layer_norm_of_columns_split_in_three_equals_the_whole") {
  std::int64_t const rows = 3;
  std::int64_t const cols = 20;
  auto const x = normals<double>(rows * cols, 1);
  auto const gamma = normals<double>(cols, 2);
  auto const beta = normals<double>(cols, 3);
  auto const dy = normals<double>(rows * cols, 4);
  std::vector<double> y(x.size());
  std::vector<double> dx(x.size());
  std::vector<double> mean(3);
  std::vector<double> rstd(3);
  std::vector<double> dgamma(size_of(cols));
  std::vector<double> dbeta(size_of(cols));
  host::layer_norm_forward(x.data(), gamma.data(), beta.data(), rows, cols, epsilon, y.data(),
                           mean.data(), rstd.data());
  host::layer_norm_backward(dy.data(), x.data(), mean.data(), rstd.data(), gamma.data(), rows, cols,
                            dx.data(), dgamma.data(), dbeta.data());

  std::vector<std::int64_t> const bounds{0, 13, 13, 20};  // one shard is empty
  auto const shard = [&](std::vector<double> const& whole, std::size_t s) {
    std::vector<double> part;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = bounds[s]; c < bounds[s + 1]; ++c) {
        part.push_back(whole[size_of(r * cols + c)]);
      }
    }
    return part;
  };
  std::vector<double> sum(3);
  std::vector<double> squares(3);
  std::vector<double> sum_g(3);
  std::vector<double> sum_g_xhat(3);
  auto const accumulate = [&](auto piece, std::vector<double>& a, std::vector<double>& b) {
    std::vector<double> local_a(3);
    std::vector<double> local_b(3);
    piece(local_a.data(), local_b.data());
    for (std::size_t r = 0; r < 3; ++r) {
      a[r] += local_a[r];
      b[r] += local_b[r];
    }
  };
  for (std::size_t s = 0; s < 3; ++s) {
    auto const xs = shard(x, s);
    std::int64_t const width = bounds[s + 1] - bounds[s];
    accumulate([&](double* a, double* b) { host::layer_norm_sums(xs.data(), rows, width, a, b); },
               sum, squares);
  }
  std::vector<double> split_mean(3);
  std::vector<double> split_rstd(3);
  host::layer_norm_statistics(sum.data(), squares.data(), rows, cols, epsilon, split_mean.data(),
                              split_rstd.data());
  CHECK(distance(split_mean, mean) < 1e-14);
  CHECK(distance(split_rstd, rstd) < 1e-13);
  for (std::size_t s = 0; s < 3; ++s) {
    auto const xs = shard(x, s);
    auto const dys = shard(dy, s);
    std::int64_t const width = bounds[s + 1] - bounds[s];
    accumulate(
        [&](double* a, double* b) {
          host::layer_norm_backward_sums(dys.data(), xs.data(), mean.data(), rstd.data(),
                                         gamma.data() + bounds[s], rows, width, a, b);
        },
        sum_g, sum_g_xhat);
  }
  for (std::size_t s = 0; s < 3; ++s) {
    auto const xs = shard(x, s);
    auto const dys = shard(dy, s);
    std::int64_t const width = bounds[s + 1] - bounds[s];
    std::vector<double> ys(xs.size());
    std::vector<double> dxs(xs.size());
    host::layer_norm_apply(xs.data(), mean.data(), rstd.data(), gamma.data() + bounds[s],
                           beta.data() + bounds[s], rows, width, ys.data());
    host::layer_norm_backward_apply(dys.data(), xs.data(), mean.data(), rstd.data(),
                                    gamma.data() + bounds[s], sum_g.data(), sum_g_xhat.data(), rows,
                                    width, cols, dxs.data());
    CHECK(distance(ys, shard(y, s)) < 1e-13);
    CHECK(distance(dxs, shard(dx, s)) < 1e-13);
  }
}
