// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/optimizer.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

TEST_CASE_TEMPLATE("adam_w_equals_its_formula_over_several_steps", T, float, double) {
  for (std::int64_t n : {0, 1, 17, 100}) {
    auto weight = normals<T>(n, 1);
    std::vector<T> first(size_of(n));
    std::vector<T> second(size_of(n));
    std::vector<double> w(weight.begin(), weight.end());
    std::vector<double> m(size_of(n));
    std::vector<double> v(size_of(n));
    for (int step = 1; step <= 5; ++step) {
      auto gradient = normals<T>(n, static_cast<std::uint64_t>(10 + step));
      if (n > 0) gradient[0] = T(0);  // a square root of zero must not cause a division by zero
      host::adam_w_factors f;
      f.lr = 0.01;
      f.weight_decay = 0.1;
      f.gradient_scale = 0.5;
      f.correction1 = 1 - std::pow(f.beta1, step);
      f.correction2 = 1 - std::pow(f.beta2, step);
      host::adam_w_update(f, gradient.data(), n, first.data(), second.data(), weight.data());
      for (std::size_t i = 0; i < w.size(); ++i) {
        double const g = 0.5 * static_cast<double>(gradient[i]);
        m[i] = f.beta1 * m[i] + (1 - f.beta1) * g;
        v[i] = f.beta2 * v[i] + (1 - f.beta2) * g * g;
        w[i] -= f.lr * (m[i] / f.correction1 / (std::sqrt(v[i] / f.correction2) + f.epsilon) +
                        f.weight_decay * w[i]);
      }
    }
    CHECK(distance(std::vector<double>(weight.begin(), weight.end()), w) <
          (sizeof(T) == 4 ? 1e-6 : 1e-14));
  }
}

TEST_CASE_TEMPLATE("adam_w_keeps_a_second_moment_that_is_not_zero", T, float, double) {
  std::vector<T> const gradient{T(3), T(3), T(0)};
  std::vector<T> weight(3), first(3), second{T(0.25), T(0), T(0)};
  host::adam_w_factors f;
  f.lr = 0.5;
  f.beta1 = 0.5;
  f.beta2 = 0.75;
  f.gradient_scale = 2;
  f.correction2 = 0.5;
  f.keeps_second = true;
  host::adam_w_update(f, gradient.data(), 3, first.data(), second.data(), weight.data());
  // The second moment of element 1 was zero. It becomes correction2 * (gradient_scale * gradient)².
  CHECK(second == std::vector<T>{T(0.25), T(18), T(0)});
  CHECK(first == std::vector<T>{T(3), T(3), T(0)});
  CHECK(double(weight[0]) == doctest::Approx(-0.5 * 3 / std::sqrt(0.25 / 0.5)));
  CHECK(double(weight[1]) == doctest::Approx(-0.5 * 3 / 6.0));
  CHECK(weight[2] == 0);
  host::adam_w_update(f, gradient.data(), 3, first.data(), second.data(), weight.data());
  CHECK(second == std::vector<T>{T(0.25), T(18), T(0)});
}

TEST_CASE_TEMPLATE("adam_w_sets_the_first_moment_to_an_average_with_its_bias", T, float, double) {
  std::vector<T> const gradient{T(3)};
  std::vector<T> weight(1), first{T(100)}, second(1);
  host::adam_w_factors f;
  f.lr = 0.5;
  f.beta1 = 0.5;
  f.beta2 = 0.75;
  f.gradient_scale = 2;
  f.correction1 = 0.75;
  f.correction2 = 0.25;
  f.sets_first = true;
  host::adam_w_update(f, gradient.data(), 1, first.data(), second.data(), weight.data());
  CHECK(first[0] == T(0.75 * 6));
  CHECK(double(weight[0]) == doctest::Approx(-0.5));  // 6 divided by the root of 6²
}

TEST_CASE_TEMPLATE("sgd_with_momentum_equals_its_formula", T, float, double) {
  std::int64_t const n = 33;
  auto weight = normals<T>(n, 1);
  std::vector<T> velocity(size_of(n));
  std::vector<double> w(weight.begin(), weight.end());
  std::vector<double> u(size_of(n));
  for (std::uint64_t step = 0; step < 4; ++step) {
    auto const gradient = normals<T>(n, 10 + step);
    host::sgd_update({.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .gradient_scale = 2},
                     gradient.data(), n, velocity.data(), weight.data());
    for (std::size_t i = 0; i < w.size(); ++i) {
      u[i] = 0.9 * u[i] + 2 * static_cast<double>(gradient[i]) + 0.01 * w[i];
      w[i] -= 0.1 * u[i];
    }
  }
  CHECK(distance(std::vector<double>(weight.begin(), weight.end()), w) <
        (sizeof(T) == 4 ? 1e-5 : 1e-14));
}
