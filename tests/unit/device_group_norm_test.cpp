// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares group norm and upsampling with their definitions, and their gradients with finite
// differences.

#include <doctest/doctest.h>

#include <ashlar/device/host/group_norm.hpp>
#include <ashlar/device/host/upsample.hpp>

#include "device_reference.hpp"

namespace device = ashlar::device;
namespace host = ashlar::device::host;
using namespace ashlar::test;

namespace {

using values = std::vector<double>;

/// Computes group norm by its definition, separately for each group of channels of each image.
values normalized(values const& x, values const& gain, values const& bias,
                  host::group_extents const& e) {
  values y(x.size());
  for (std::int64_t g = 0; g < e.groups(); ++g) {
    auto const n = static_cast<double>(e.pixels());
    double mean = 0, variance = 0;
    auto const at = [&](std::int64_t i) { return size_of(g * e.pixels() + i); };
    for (std::int64_t i = 0; i < e.pixels(); ++i) mean += x[at(i)] / n;
    for (std::int64_t i = 0; i < e.pixels(); ++i)
      variance += (x[at(i)] - mean) * (x[at(i)] - mean) / n;
    for (std::int64_t i = 0; i < e.pixels(); ++i) {
      auto const channel = size_of((g * e.of_group + i / e.images.plane()) % e.images.channels);
      y[at(i)] = (x[at(i)] - mean) / std::sqrt(variance + 1e-5) * gain[channel] + bias[channel];
    }
  }
  return y;
}

void check(host::group_extents const& e) {
  auto x = normals<double>(e.images.batch * e.images.channels * e.images.plane(), 1);
  auto gain = normals<double>(e.images.channels, 2), bias = normals<double>(e.images.channels, 3);
  auto const dy = normals<double>(static_cast<std::int64_t>(x.size()), 4);
  values y(x.size(), 9), dx(x.size(), 9), mean(size_of(e.groups())), rstd(mean);
  host::group_norm_forward(x.data(), gain.data(), bias.data(), e, 1e-5, y.data(), mean.data(),
                           rstd.data());
  CHECK(distance(y, normalized(x, gain, bias, e)) < 1e-12);
  values dgain(gain.size(), 1), dbias(bias.size(), 2);  // the backward pass adds to these values
  host::group_norm_backward(dy.data(), x.data(), mean.data(), rstd.data(), gain.data(), e,
                            dx.data(), dgain.data(), dbias.data());
  for (auto& v : dgain) v -= 1;
  for (auto& v : dbias) v -= 2;
  auto const value = [&] { return dot(normalized(x, gain, bias, e), dy); };
  CHECK(distance(dx, numeric_gradient(x, value)) < 1e-7);
  CHECK(distance(dgain, numeric_gradient(gain, value)) < 1e-7);
  CHECK(distance(dbias, numeric_gradient(bias, value)) < 1e-7);
}

}  // namespace

TEST_CASE("group_norm_equals_its_definition_and_its_gradients_finite_differences") {
  check({{2, 6, 3, 5}, 2});
  check({{3, 6, 2, 2}, 6});
  check({{2, 4, 3, 1}, 1});
  check({{1, 2, 1, 1}, 2});
  check({{2, 3, 7, 9}, 3});
  check({{0, 4, 3, 3}, 2});
  check({{2, 0, 3, 3}, 2});
}

TEST_CASE("upsampling_repeats_pixels_and_its_gradient_adds_them") {
  for (std::int64_t factor : {1, 2, 3}) {
    device::image_extents const e{2, 3, 2, 5};
    auto const x = normals<double>(2 * 3 * 2 * 5, 1);
    auto const dy = normals<double>(2 * 3 * 2 * 5 * factor * factor, 2);
    values y(dy.size(), 9), dx(x.size(), 9), expected(x.size());
    host::upsample_forward(x.data(), e, factor, y.data());
    host::upsample_backward(dy.data(), e, factor, dx.data());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
      std::int64_t const row = i / (5 * factor), column = i % (5 * factor);
      std::int64_t const from = row / factor * 5 + column / factor;
      CHECK(y[size_of(i)] == x[size_of(from)]);
      expected[size_of(from)] += dy[size_of(i)];
    }
    CHECK(distance(dx, expected) < 1e-14);
  }
}
