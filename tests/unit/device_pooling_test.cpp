// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares pooling with its definition, and its gradients with finite differences.

#include <limits>

#include <doctest/doctest.h>
#include <support/combinations.hpp>

#include <ashlar/device/host/pooling.hpp>

#include "device_reference.hpp"

namespace device = ashlar::device;
namespace host = ashlar::device::host;
using namespace ashlar::test;
using ashlar_test::all_combinations;

namespace {

using values = std::vector<double>;

struct pooled {
  values maximum, average;
};

/// Computes pooling by its definition, one window after the other.
pooled reference(values const& x, device::image_extents const& e, device::window const& w) {
  pooled y;
  for (std::int64_t p = 0; p < e.batch * e.channels; ++p)
    for (std::int64_t r = 0; r < e.places_of_rows(w); ++r)
      for (std::int64_t c = 0; c < w.places(e.width); ++c) {
        double largest = -HUGE_VAL, sum = 0;
        for (std::int64_t i = 0; i < w.extent * w.extent; ++i) {
          std::int64_t const row = r * w.stride - e.padding_above(w) + i / w.extent;
          std::int64_t const column = c * w.stride - w.padding + i % w.extent;
          if (row < 0 || row >= e.height || column < 0 || column >= e.width) continue;
          double const pixel = x[size_of((p * e.height + row) * e.width + column)];
          largest = std::max(largest, pixel);
          sum += pixel;
        }
        y.maximum.push_back(largest);
        y.average.push_back(sum / static_cast<double>(w.extent * w.extent));
      }
  return y;
}

std::int64_t size_of_y(device::image_extents const& e, device::window const& w) {
  return e.batch * e.channels * e.places_of_rows(w) * w.places(e.width);
}

void check(device::image_extents const& e, device::window const& w) {
  CAPTURE(w.extent);
  CAPTURE(w.stride);
  CAPTURE(w.padding);
  auto x = normals<double>(e.batch * e.channels * e.plane(), 1);
  auto const n = size_of_y(e, w);
  auto const dy = normals<double>(n, 2);
  values y(size_of(n), 9), dx(x.size(), 9);
  std::vector<std::int32_t> chosen(size_of(n));

  host::max_pool_forward(x.data(), e, w, y.data(), chosen.data());
  CHECK(y == reference(x, e, w).maximum);
  host::max_pool_backward(dy.data(), chosen.data(), e, w, dx.data());
  CHECK(distance(dx, numeric_gradient(x, [&] { return dot(reference(x, e, w).maximum, dy); })) <
        1e-8);

  host::average_pool_forward(x.data(), e, w, y.data());
  CHECK(distance(y, reference(x, e, w).average) < 1e-14);
  host::average_pool_backward(dy.data(), e, w, dx.data());
  CHECK(distance(dx, numeric_gradient(x, [&] { return dot(reference(x, e, w).average, dy); })) <
        1e-8);
}

}  // namespace

TEST_CASE("pooling_equals_its_definition_and_its_gradient_finite_differences") {
  for (std::int64_t extent : {1, 2, 3})
    for (std::int64_t stride : {1, 2, 3, 4})
      for (std::int64_t padding = 0; padding < extent; ++padding)
        check({2, 3, 5, 4}, {extent, stride, padding});
  check({0, 3, 5, 4}, {2, 2, 0});
  check({2, 0, 5, 4}, {2, 2, 0});
  check({1, 1, 1, 1}, {3, 2, 2});
}

TEST_CASE("pooling_of_some_rows_of_images") {
  // A rank that holds only some rows of the images has less padding above and below its rows.
  for (std::int64_t extent : {1, 2, 3})
    for (std::int64_t stride : {1, 2, 4})
      for (std::int64_t padding = 0; padding < extent; ++padding)
        for (std::int64_t above = 0; above <= padding; ++above)
          for (std::int64_t below = 0; below <= padding; ++below)
            check({2, 2, 5, 4, above, below}, {extent, stride, padding});
  check({1, 2, 0, 4, 0, 0}, {2, 2, 0});
  check({1, 2, 0, 4, 1, 1}, {3, 2, 1});
}

TEST_CASE("pooling_of_2x2_for_rows_of_any_length") {
  for (std::int64_t height : {1, 2, 3, 4, 8})
    for (std::int64_t width : {1, 2, 3, 16, 17, 36, 71}) check({2, 2, height, width}, {2, 2, 0});
}

// Windows of 2 x 2 have specialized loops, which must choose the same pixels as the general loops.
// The image has only 2 x 2 pixels. A window of 4 x 4 with padding 1 therefore covers the same
// pixels, and uses the general loops.
TEST_CASE("pooling_of_2x2_chooses_as_other_windows_do") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  values const from{1, 2, nan};
  for (auto const& [d, c, b, a] : all_combinations(from, from, from, from)) {
    values const x{a, b, c, d};
    values y(1), expected(1);
    std::vector<std::int32_t> chosen(1), expected_chosen(1);
    host::max_pool_forward(x.data(), {1, 1, 2, 2}, {2, 2, 0}, y.data(), chosen.data());
    host::max_pool_forward(x.data(), {1, 1, 2, 2}, {4, 4, 1}, expected.data(),
                           expected_chosen.data());
    CHECK(chosen == expected_chosen);
    CHECK((y == expected || (std::isnan(y[0]) && std::isnan(expected[0]))));
  }
}

TEST_CASE("of_equal_pixels_the_first_gets_the_gradient") {
  std::vector<float> const x{1, 4, 4, 4};
  std::vector<float> const dy{5};
  std::vector<float> y(1), dx(4, 9);
  std::vector<std::int32_t> chosen(1);
  device::image_extents const e{1, 1, 2, 2};
  host::max_pool_forward(x.data(), e, {2, 2, 0}, y.data(), chosen.data());
  host::max_pool_backward(dy.data(), chosen.data(), e, {2, 2, 0}, dx.data());
  CHECK(dx == std::vector<float>{0, 5, 0, 0});
}

TEST_CASE("a_pixel_under_several_windows_gets_all_their_gradients") {
  values const x{0, 9, 0};
  device::image_extents const e{1, 1, 1, 3};
  device::window const w{2, 1, 1};  // windows also cover the padding above and below the only row
  values y(size_of(size_of_y(e, w))), dx(3, 9);
  std::vector<std::int32_t> chosen(y.size());
  host::max_pool_forward(x.data(), e, w, y.data(), chosen.data());
  values const ones(y.size(), 1);
  host::max_pool_backward(ones.data(), chosen.data(), e, w, dx.data());
  CHECK(dx[1] == 4);  // the pixel is under two windows in each of the two rows of y
  CHECK(dx[0] + dx[2] == 4);
}

TEST_CASE("a_nan_counts_as_the_maximum") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t at = 0; at < 4; ++at) {
    values x{1, 2, 3, 4}, y(1);
    x[at] = nan;
    std::vector<std::int32_t> chosen(1);
    host::max_pool_forward(x.data(), {1, 1, 2, 2}, {2, 2, 0}, y.data(), chosen.data());
    CHECK(std::isnan(y[0]));
  }
}
