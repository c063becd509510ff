// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests fits of machine parameters. The test computes times from known values of α, β, flops and
// gemm_half. Without noise, a fit must recover these values exactly. With noise, it must recover
// them closely, and no other α and β nearby may fit better. Samples that do not determine the
// parameters must give an error.

#include <random>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/machine/fit_gemm.hpp>
#include <ashlar/machine/fit_link.hpp>

namespace ashlar_test {
namespace {

using ashlar::fit_gemm, ashlar::fit_link, ashlar::gemm_sample, ashlar::link_sample;

/// Returns simulated times of all-gathers of 4 KiB to 64 MiB on 2 to 8 ranks. Each time has a
/// random relative error of up to `noise`.
std::vector<link_sample> gathers(double alpha, double beta, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<link_sample> samples;
  for (int p = 2; p <= 8; p *= 2)
    for (double bytes = 4096; bytes <= 64 * 1024 * 1024; bytes *= 2) {
      double const messages = p - 1, received = bytes * (p - 1) / p;
      samples.push_back({messages, received, (alpha * messages + beta * received) * off(random)});
    }
  return samples;
}

double squares(std::vector<link_sample> const& samples, ashlar::link const& l) {
  double sum = 0;
  for (auto const& s : samples) {
    double const off = (l.alpha * s.messages + l.beta * s.bytes) / s.seconds - 1;
    sum += off * off;
  }
  return sum;
}

std::vector<gemm_sample> products(double flops, double half, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<gemm_sample> samples;
  for (auto const& [m, n, k] : all_combinations({16, 64, 256, 1024}, {32, 512}, {8, 128, 2048})) {
    double const seconds = 2 * (double(m) + half) * (double(n) + half) * (double(k) + half) / flops;
    samples.push_back({m, n, k, seconds * off(random)});
  }
  return samples;
}

}  // namespace

TEST_CASE("alpha and beta are recovered exactly without noise") {
  for (auto const& [alpha, beta] : all_combinations({1e-7, 2e-6, 5e-5}, {1e-12, 2e-10, 1e-8})) {
    auto const fit = fit_link(gathers(alpha, beta, 0, 1));
    CHECK(fit.value.alpha == relative(alpha, 1e-6));
    CHECK(fit.value.beta == relative(beta, 1e-6));
    CHECK(fit.error.worst < 1e-6);
  }
}

TEST_CASE(
    "alpha and beta are recovered closely with noise of 20 %, and nothing nearby fits better") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    auto const samples = gathers(3e-6, 2.5e-10, 0.2, seed);
    auto const fit = fit_link(samples);
    CHECK(fit.value.alpha == relative(3e-6, 0.15));
    CHECK(fit.value.beta == relative(2.5e-10, 0.15));
    CHECK(fit.error.worst <= 0.5);
    CHECK(fit.error.median <= fit.error.worst);
    double const least = squares(samples, fit.value);
    for (auto const& [a, b] : all_combinations({0.99, 1.0, 1.01}, {0.99, 1.0, 1.01}))
      CHECK(least <= squares(samples, {a * fit.value.alpha, b * fit.value.beta}) * (1 + 1e-12));
  }
}

TEST_CASE("beta is zero if time does not grow with size, alpha is zero if latency is negligible") {
  // No link has such times: in the first series they fall as the size grows, and in the second they
  // grow faster than the size. The fit then sets β or α to 0, since neither may be negative.
  auto const falling = fit_link({{1, 1000, 3e-6}, {1, 2000, 2e-6}, {1, 4000, 1e-6}});
  CHECK(falling.value.beta == 0);
  CHECK(falling.value.alpha > 0);
  auto const rising = fit_link({{1, 1000, 1e-6}, {1, 2000, 4e-6}, {1, 4000, 16e-6}});
  CHECK(rising.value.alpha == 0);
  CHECK(rising.value.beta > 0);
}

TEST_CASE("samples that do not determine alpha and beta are errors") {
  auto const said = [](std::vector<link_sample> const& samples) {
    return message_of([&] { fit_link(samples); });
  };
  CHECK(has(said({}), "0 samples do not determine"));
  CHECK(has(said({{1, 4096, 1e-6}}), "1 samples do not determine"));
  CHECK(has(said({{1, 4096, 1e-6}, {2, 8192, 2e-6}, {3, 12288, 3e-6}}), "several sizes"));
  CHECK(has(said({{1, 4096, 0}, {1, 8192, 1e-6}}), "above zero"));
  CHECK(has(said({{1, 4096, -1e-6}, {1, 8192, 1e-6}}), "above zero"));
  CHECK(has(said({{1, 4096, 1e-6}, {1, 8192, NAN}}), "above zero"));
  CHECK(has(said({{1, 4096, 1e-6}, {1, 8192, INFINITY}}), "above zero"));
  CHECK(has(said({{-1, 4096, 1e-6}, {1, 8192, 1e-6}}), "negative"));
  CHECK(has(said({{1, INFINITY, 1e-6}, {1, 8192, 1e-6}}), "not finite"));
}

TEST_CASE("flops and gemm_half are recovered, exactly without noise and closely with it") {
  for (double const half : {0.0, 3.0, 40.0, 300.0, 5000.0}) {
    auto const exact = fit_gemm(products(1e11, half, 0, 1));
    CHECK(exact.flops == doctest::Approx(1e11).epsilon(1e-5));
    CHECK(exact.half == doctest::Approx(half).epsilon(1e-5));
    CHECK(exact.error.worst < 1e-5);
  }
  for (unsigned seed = 1; seed <= 10; ++seed) {
    auto const noisy = fit_gemm(products(1e11, 40, 0.1, seed));
    CHECK(noisy.flops == doctest::Approx(1e11).epsilon(0.15));
    CHECK(noisy.half == doctest::Approx(40).epsilon(0.15));
  }
}

TEST_CASE("products that do not determine flops and gemm_half are errors") {
  auto const said = [](std::vector<gemm_sample> const& samples) {
    return message_of([&] { fit_gemm(samples); });
  };
  CHECK(has(said({}), "0 samples do not determine"));
  CHECK(has(said({{8, 8, 8, 1e-6}, {8, 8, 8, 2e-6}}), "several extents"));
  CHECK(has(said({{8, 64, 512, 1e-6}, {512, 8, 64, 2e-6}, {64, 512, 8, 1e-6}}), "several extents"));
  CHECK(said({{8, 64, 512, 1e-6}, {512, 8, 65, 2e-6}}) == "nothing was thrown");
  CHECK(has(said({{8, 8, 8, 0}, {9, 8, 8, 2e-6}}), "above zero"));
  CHECK(has(said({{8, 0, 8, 1e-6}, {9, 8, 8, 2e-6}}), "extent below 1"));
}

}  // namespace ashlar_test
