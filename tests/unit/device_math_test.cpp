// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <ashlar/device/functor.hpp>
#include <ashlar/device/math.hpp>

namespace math = ashlar::device::math;

namespace {

/// Returns the largest relative error of f against the reference over [low, high].
template <class T, class F, class Reference>
double worst_error(double low, double high, F f, Reference reference) {
  double worst = 0;
  int const samples = 200000;
  for (int i = 0; i <= samples; ++i) {
    T const x = static_cast<T>(low + (high - low) * i / samples);
    double const exact = reference(static_cast<double>(x));
    double const error = std::abs(static_cast<double>(f(x)) - exact) / std::abs(exact);
    if (exact != 0 && !(error <= worst)) worst = error;
  }
  return worst;
}

double gelu_reference(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

}  // namespace

TEST_CASE("exp_is_accurate_to_2e-7_in_float_and_1e-15_in_double") {
  auto const f = [](auto x) { return math::exp(x); };
  auto const exact = [](double x) { return std::exp(x); };
  CHECK(worst_error<float>(-87.3, 88.3, f, exact) < 2e-7);
  CHECK(worst_error<float>(-1, 1, f, exact) < 1.5e-7);
  CHECK(worst_error<double>(-708, 709, f, exact) < 1e-15);
}

TEST_CASE_TEMPLATE("exp_ends_in_zero_and_infinity_and_keeps_nan", T, float, double) {
  T const infinity = std::numeric_limits<T>::infinity();
  CHECK(math::exp(T(0)) == T(1));
  CHECK(math::exp(-infinity) == T(0));
  CHECK(math::exp(T(-1e30)) == T(0));
  CHECK(math::exp(infinity) == infinity);
  CHECK(math::exp(T(1e30)) == infinity);
  CHECK(std::isnan(math::exp(std::numeric_limits<T>::quiet_NaN())));
}

TEST_CASE("tanh_is_accurate_and_odd_and_ends_at_one") {
  auto const f = [](auto x) { return math::tanh(x); };
  auto const exact = [](double x) { return std::tanh(x); };
  CHECK(worst_error<float>(-12, 12, f, exact) < 2e-7);
  CHECK(worst_error<float>(1e-6, 1e-3, f, exact) < 2e-7);
  CHECK(worst_error<double>(-25, 25, f, exact) < 1e-15);
  CHECK(math::tanh(0.0f) == 0.0f);
  CHECK(math::tanh(-100.0f) == -1.0f);
  CHECK(math::tanh(100.0) == 1.0);
  CHECK(std::isnan(math::tanh(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("sqrt_is_accurate_and_maps_zero_to_zero") {
  auto const f = [](auto x) { return math::sqrt(x); };
  auto const exact = [](double x) { return std::sqrt(x); };
  CHECK(worst_error<float>(1e-6, 1e3, f, exact) < 2e-7);
  CHECK(worst_error<float>(1e-30, 1e-29, f, exact) < 2e-7);
  CHECK(worst_error<float>(1e37, 3e38, f, exact) < 2e-7);
  CHECK(worst_error<double>(1e-200, 1e-199, f, exact) < 1e-15);
  CHECK(worst_error<double>(0, 1e6, f, exact) < 1e-15);
  CHECK(math::sqrt(0.0f) == 0.0f);
  CHECK(math::sqrt(0.0) == 0.0);
}

TEST_CASE("gelu_and_relu_match_their_definitions_and_their_slopes") {
  using ashlar::device::gelu;
  using ashlar::device::relu;
  for (double x = -6; x <= 6; x += 0.0371) {
    CAPTURE(x);
    CHECK(std::abs(gelu::value(x) - gelu_reference(x)) < 1e-14);
    float const single = static_cast<float>(x);
    CHECK(std::abs(static_cast<double>(gelu::value(single)) - gelu_reference(single)) < 1e-6);
    double const slope = (gelu_reference(x + 1e-5) - gelu_reference(x - 1e-5)) / 2e-5;
    CHECK(std::abs(gelu::derivative(x) - slope) < 1e-9);
    CHECK(relu::value(x) == (x > 0 ? x : 0));
    CHECK(relu::derivative(x) == (x > 0 ? 1 : 0));
  }
  CHECK(std::isnan(gelu::value(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(relu::value(std::numeric_limits<float>::quiet_NaN())));
  CHECK(gelu::value(60.0f) == 60.0f);
  CHECK(std::abs(gelu::derivative(60.0f) - 1.0f) < 1e-6f);
}
