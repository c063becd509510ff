// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/cross_entropy.hpp>
#include <ashlar/device/host/softmax.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

namespace {

template <class T>
std::vector<T> reference_softmax(std::vector<T> const& x, std::int64_t rows, std::int64_t cols) {
  std::vector<T> y(x.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    double peak = -HUGE_VAL;
    double sum = 0;
    for (std::int64_t c = 0; c < cols; ++c) {
      peak = std::max(peak, static_cast<double>(x[size_of(r * cols + c)]));
    }
    for (std::int64_t c = 0; c < cols; ++c) {
      sum += std::exp(static_cast<double>(x[size_of(r * cols + c)]) - peak);
    }
    for (std::int64_t c = 0; c < cols; ++c) {
      y[size_of(r * cols + c)] = static_cast<T>(
          std::exp(static_cast<double>(x[size_of(r * cols + c)]) - peak) / sum);
    }
  }
  return y;
}

/// Computes the loss of each row, and `scale` times the gradient unless `gradient` is null.
template <class T>
void whole_cross_entropy(T const* logits, std::vector<std::int32_t> const& targets,
                         std::int64_t cols, T scale, T* loss, T* gradient) {
  auto const rows = static_cast<std::int64_t>(targets.size());
  std::vector<T> maximum(targets.size()), sum(targets.size()), target_logit(targets.size());
  host::row_max(logits, rows, cols, maximum.data());
  host::cross_entropy_exp_sum(logits, maximum.data(), rows, cols, sum.data());
  host::cross_entropy_target_logit(logits, targets.data(), rows, cols, 0, target_logit.data());
  host::cross_entropy_loss(maximum.data(), sum.data(), target_logit.data(), targets.data(), rows,
                           loss);
  if (gradient != nullptr)
    host::cross_entropy_gradient(logits, targets.data(), maximum.data(), sum.data(), rows, cols, 0,
                                 scale, gradient);
}

}  // namespace

TEST_CASE_TEMPLATE("softmax_equals_the_definition_also_for_large_values", T, float, double) {
  for (std::int64_t cols : {0, 1, 5, 32, 257}) {
    auto x = normals<T>(3 * cols, 1);
    for (T& value : x) value = T(200) + T(30) * value;
    auto const expected = reference_softmax(x, 3, cols);
    std::vector<T> y(x.size());
    host::softmax_forward(x.data(), 3, cols, y.data());
    CHECK(distance(y, expected) < (sizeof(T) == 4 ? 1e-6 : 1e-14));
    host::softmax_forward(x.data(), 3, cols, x.data());
    CHECK(x == y);
  }
}

TEST_CASE("softmax_gradient_equals_finite_differences") {
  auto x = normals<double>(3 * 35, 1);
  auto const dy = normals<double>(3 * 35, 2);
  std::vector<double> y(x.size());
  auto const loss = [&] {
    host::softmax_forward(x.data(), 3, 35, y.data());
    return dot(y, dy);
  };
  loss();
  auto dx = dy;
  host::softmax_backward(dx.data(), y.data(), 3, 35, dx.data());
  CHECK(distance(dx, numeric_gradient(x, loss)) < 1e-9);
}

TEST_CASE("cross_entropy_gradient_equals_finite_differences_and_skips_ignored_rows") {
  std::int64_t const rows = 4;
  std::int64_t const cols = 33;
  std::vector<std::int32_t> const targets{0, 32, -1, 7};
  auto logits = normals<double>(rows * cols, 1);
  std::vector<double> losses(size_of(rows));
  double* const no_gradient = nullptr;
  auto const loss = [&] {
    whole_cross_entropy(logits.data(), targets, cols, 1.0, losses.data(), no_gradient);
    return 0.25 * (losses[0] + losses[1] + losses[2] + losses[3]);
  };
  auto const p = reference_softmax(logits, rows, cols);
  double const expected = -0.25 * (std::log(p[0]) + std::log(p[size_of(cols + 32)]) +
                                   std::log(p[size_of(3 * cols + 7)]));
  CHECK(loss() == doctest::Approx(expected).epsilon(1e-13));
  auto gradient = logits;  // cross_entropy_gradient reads logits here and overwrites them
  whole_cross_entropy(gradient.data(), targets, cols, 0.25, losses.data(), gradient.data());
  CHECK(distance(gradient, numeric_gradient(logits, loss)) < 1e-9);
  CHECK(std::all_of(gradient.begin() + 2 * cols, gradient.begin() + 3 * cols,
                    [](double g) { return g == 0; }));
}

TEST_CASE("label_smoothing_over_a_split_vocabulary_equals_plain_loops_and_finite_differences") {
  std::int64_t const rows = 3, cols = 7, first = 3;
  std::vector<std::int32_t> const targets{1, -2, 6};
  auto logits = normals<double>(rows * cols, 1);
  auto const q = ashlar::device::smoothed_target<double>(0.3, cols);
  auto const loss = [&] {
    auto const p = reference_softmax(logits, rows, cols);
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols && targets[size_of(r)] >= 0; ++c)
        sum -= (0.3 / 7 + (c == targets[size_of(r)] ? 0.7 : 0)) *
               std::log(p[size_of(r * cols + c)]);
    return sum;
  };
  std::vector<double> maximum(3), sum(3), expected(3), part(3), losses(3);
  host::row_max(logits.data(), rows, cols, maximum.data());
  host::cross_entropy_exp_sum(logits.data(), maximum.data(), rows, cols, sum.data());
  std::vector<double> gradient(logits.size());
  for (std::int64_t const begin : {std::int64_t(0), first}) {
    std::int64_t const width = begin == 0 ? first : cols - first;
    std::vector<double> shard, slopes(size_of(rows * width));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; ++c)
        shard.push_back(logits[size_of(r * cols + begin + c)]);
    host::cross_entropy_expected_logit(shard.data(), targets.data(), rows, width, begin, q,
                                       part.data());
    for (std::size_t r = 0; r < 3; ++r) expected[r] += part[r];
    host::cross_entropy_gradient(shard.data(), targets.data(), maximum.data(), sum.data(), rows,
                                 width, begin, 2.0, slopes.data(), q);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; ++c)
        gradient[size_of(r * cols + begin + c)] = slopes[size_of(r * width + c)] / 2;
  }
  host::cross_entropy_loss(maximum.data(), sum.data(), expected.data(), targets.data(), rows,
                           losses.data());
  CHECK(losses[1] == 0);
  CHECK(losses[0] + losses[2] == doctest::Approx(loss()).epsilon(1e-13));
  CHECK(distance(gradient, numeric_gradient(logits, loss)) < 1e-8);
}

TEST_CASE("cross_entropy_over_a_split_vocabulary_equals_the_whole") {
  std::int64_t const rows = 3;
  std::int64_t const cols = 11;
  std::vector<std::int32_t> const targets{4, 10, -7};
  auto const logits = normals<double>(rows * cols, 1);
  std::vector<double> loss(3);
  std::vector<double> gradient(logits.size());
  whole_cross_entropy(logits.data(), targets, cols, 0.5, loss.data(), gradient.data());

  std::vector<std::int64_t> const bounds{0, 5, 5, 11};  // one shard is empty
  auto const shard = [&](std::vector<double> const& whole, std::size_t s) {
    std::vector<double> part;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = bounds[s]; c < bounds[s + 1]; ++c) {
        part.push_back(whole[size_of(r * cols + c)]);
      }
    }
    return part;
  };
  std::vector<double> maximum(3, -HUGE_VAL);
  std::vector<double> sum(3);
  std::vector<double> target_logit(3);
  std::vector<double> local(3);
  for (std::size_t s = 0; s < 3; ++s) {
    host::row_max(shard(logits, s).data(), rows, bounds[s + 1] - bounds[s], local.data());
    for (std::size_t r = 0; r < 3; ++r) maximum[r] = std::max(maximum[r], local[r]);
  }
  for (std::size_t s = 0; s < 3; ++s) {
    auto const x = shard(logits, s);
    std::int64_t const width = bounds[s + 1] - bounds[s];
    host::cross_entropy_exp_sum(x.data(), maximum.data(), rows, width, local.data());
    for (std::size_t r = 0; r < 3; ++r) sum[r] += local[r];
    host::cross_entropy_target_logit(x.data(), targets.data(), rows, width, bounds[s],
                                     local.data());
    for (std::size_t r = 0; r < 3; ++r) target_logit[r] += local[r];
  }
  host::cross_entropy_loss(maximum.data(), sum.data(), target_logit.data(), targets.data(), rows,
                           local.data());
  CHECK(distance(local, loss) < 1e-14);
  for (std::size_t s = 0; s < 3; ++s) {
    auto part = shard(logits, s);
    host::cross_entropy_gradient(part.data(), targets.data(), maximum.data(), sum.data(), rows,
                                 bounds[s + 1] - bounds[s], bounds[s], 0.5, part.data());
    CHECK(distance(part, shard(gradient, s)) < 1e-14);
  }
}

TEST_CASE("cross_entropy_of_large_logits_is_accurate") {
  // The spacing of floats near 10,000 is about 0.001, which is more than the first loss.
  std::vector<float> logits{10000, 9992, 10000, 10000};
  std::vector<std::int32_t> const targets{0, 1};
  std::vector<float> loss(2);
  whole_cross_entropy(logits.data(), targets, 2, 1.0f, loss.data(), logits.data());
  CHECK(loss[0] == doctest::Approx(std::log1p(std::exp(-8.0))).epsilon(1e-3));
  CHECK(loss[1] == doctest::Approx(std::log(2.0)).epsilon(1e-6));
}
