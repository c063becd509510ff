// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares convolution with its definition, written as loops over all indices. Values are integers,
// so results must be equal. The cases include windows that do not divide the image, windows that
// reach over the border of the image, and extents of 0. The cases cover both implementations,
// im2col and Winograd. Also compares the two implementations on random floats.

#include <doctest/doctest.h>
#include <support/combinations.hpp>

#include <ashlar/device/host/convolution.hpp>

#include "device_reference.hpp"

namespace device = ashlar::device;
namespace host = ashlar::device::host;
using namespace ashlar::test;
using ashlar_test::all_combinations;

namespace {

using values = std::vector<double>;

values integers(std::int64_t n, std::uint64_t stream) {
  auto x = normals<double>(n, stream);
  for (auto& v : x) v = std::round(3 * v);
  return x;
}

/// Calls visit(index into x, index into the weight, index into y) for every product of a
/// convolution.
template <class Visit>
void for_each_product(host::convolution_extents const& e, Visit visit) {
  auto const& w = e.window;
  for (std::int64_t n = 0; n < e.x.batch; ++n)
    for (std::int64_t o = 0; o < e.outputs; ++o)
      for (std::int64_t r = 0; r < e.y_rows(); ++r)
        for (std::int64_t q = 0; q < e.y_columns(); ++q)
          for (std::int64_t c = 0; c < e.x.channels; ++c)
            for (std::int64_t i = 0; i < w.extent; ++i)
              for (std::int64_t j = 0; j < w.extent; ++j) {
                std::int64_t const row = r * w.stride - e.x.padding_above(w) + i;
                std::int64_t const column = q * w.stride - w.padding + j;
                if (row < 0 || row >= e.x.height || column < 0 || column >= e.x.width) continue;
                visit(size_of(((n * e.x.channels + c) * e.x.height + row) * e.x.width + column),
                      size_of(((o * e.x.channels + c) * w.extent + i) * w.extent + j),
                      size_of(((n * e.outputs + o) * e.y_rows() + r) * e.y_columns() + q));
              }
}

void check(host::convolution_extents const& e) {
  CAPTURE(e.x.channels);
  CAPTURE(e.window.extent);
  CAPTURE(e.window.stride);
  CAPTURE(e.window.padding);
  auto const x = integers(e.x.batch * e.x.channels * e.x.plane(), 1);
  auto const weight = integers(e.outputs * e.inner(), 2);
  auto const dy = integers(e.x.batch * e.outputs * e.y_plane(), 3);
  auto const bias = integers(e.outputs, 4);
  values y(dy.size(), 8), unbiased(dy.size(), 9), dx(x.size(), 7), dweight(weight.size(), 5);
  REQUIRE(host::convolution_workspace(e) <= host::convolution_workspace_bound(e));
  // The previous contents of the workspace must not matter.
  values workspace(size_of(host::convolution_workspace(e)), std::nan(""));
  double const* const none = nullptr;
  host::convolution_forward(x.data(), weight.data(), none, e, workspace.data(), unbiased.data());
  host::convolution_forward(x.data(), weight.data(), bias.data(), e, workspace.data(), y.data());
  host::convolution_backward(dy.data(), x.data(), weight.data(), e, workspace.data(), dx.data(),
                             dweight.data());
  values expected_y(dy.size()), expected_dx(x.size()), expected_dweight(weight.size(), 5);
  for_each_product(e, [&](std::size_t a, std::size_t b, std::size_t c) {
    expected_y[c] += x[a] * weight[b];
    expected_dx[a] += dy[c] * weight[b];
    expected_dweight[b] += dy[c] * x[a];
  });
  CHECK(unbiased == expected_y);
  for (std::size_t i = 0; i < y.size(); ++i)
    expected_y[i] += bias[i / size_of(e.y_plane()) % size_of(e.outputs)];
  CHECK(y == expected_y);
  CHECK(dx == expected_dx);
  CHECK(dweight == expected_dweight);
  // If dx is not requested, the gradient of the weight stays the same, and the weight is not read.
  values again(weight.size(), 5);
  host::convolution_backward(dy.data(), x.data(), none, e, workspace.data(),
                             static_cast<double*>(nullptr), again.data());
  CHECK(again == expected_dweight);
}

}  // namespace

TEST_CASE("convolution_equals_its_definition") {
  for (std::int64_t extent : {1, 2, 3, 5})
    for (std::int64_t stride : {1, 2, 4})
      for (std::int64_t padding = 0; padding < extent; ++padding)
        check({{2, 3, 7, 6}, 4, {extent, stride, padding}});
}

TEST_CASE("convolution_of_some_rows_of_images") {
  // A rank that holds only some rows of the images has less padding above and below its rows.
  for (std::int64_t extent : {1, 2, 3, 5})
    for (std::int64_t stride : {1, 2, 4})
      for (std::int64_t padding = 0; padding < extent; ++padding)
        for (std::int64_t above = 0; above <= padding; ++above)
          for (std::int64_t below = 0; below <= padding; ++below)
            check({{2, 3, 6, 6, above, below}, 4, {extent, stride, padding}});
  check({{1, 3, 0, 6, 1, 1}, 4, {3, 1, 1}});
  // These cases use Winograd's method.
  for (std::int64_t above = 0; above <= 2; ++above)
    for (std::int64_t below = 0; below <= 2; ++below) {
      host::convolution_extents const e{{3, 8, 7, 8, above, below}, 9, {3, 1, 2}};
      REQUIRE(host::takes_winograd(e));
      check(e);
    }
}

TEST_CASE("convolution_workspace_of_any_rows_is_within_the_bound") {
  for (std::int64_t const channels : {3, 8, 60, 300})
    for (std::int64_t const side : {8, 20, 65})
      for (std::int64_t const images : {1, 5, 70}) {
        host::convolution_extents const whole{{images, channels, side, side}, 9, {3, 1, 1}};
        auto const bound = host::convolution_workspace_bound(whole, true);
        for (std::int64_t part = 1; part <= images; part += part < 5 ? 1 : 13)
          for (std::int64_t rows = 1; rows <= side; ++rows) {
            host::convolution_extents e = whole;
            e.x.batch = part;
            e.x.height = std::min(side, rows + 2);
            e.x.missing_above = e.x.missing_below = 1;
            CHECK(host::convolution_workspace(e) <= bound);
          }
      }
}

TEST_CASE("convolution_of_an_empty_tensor") {
  check({{0, 3, 7, 6}, 4, {3, 1, 1}});
  check({{2, 0, 7, 6}, 4, {3, 1, 1}});
  check({{2, 3, 7, 6}, 0, {3, 1, 1}});
  check({{2, 3, 1, 1}, 4, {3, 1, 2}});
}

TEST_CASE("convolution_in_more_than_one_strip") {
  host::convolution_extents const e{{1, 150, 30, 31}, 2, {5, 1, 2}};
  REQUIRE(host::detail::strip_rows(e) < e.y_rows());
  REQUIRE(host::detail::strip_rows(e) > 1);
  REQUIRE(host::convolution_workspace(e) <= host::convolution_panel);
  check(e);
}

TEST_CASE("convolution_in_strips_of_several_images") {
  host::convolution_extents const e{{20, 40, 5, 6}, 3, {5, 1, 2}};
  REQUIRE(host::detail::strip_images(e) > 1);
  REQUIRE(e.x.batch % host::detail::strip_images(e) != 0);
  check(e);
}

TEST_CASE("convolution_by_winograd_of_images_of_all_small_sides") {
  for (auto const& [height, width, padding] :
       all_combinations({1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 8}, {0, 1, 2})) {
    host::convolution_extents const e{{17, 9, height, width}, 11, {3, 1, padding}};
    CHECK(host::takes_winograd(e) == (e.y_rows() > 1 && e.y_columns() > 1));
    check(e);
  }
}

TEST_CASE("convolution_by_winograd_in_groups_of_images") {
  host::convolution_extents const e{{23, 131, 7, 6}, 140, {3, 1, 1}};
  REQUIRE(host::takes_winograd(e));
  auto const groups = host::detail::winograd_forward_extents(e);
  REQUIRE(groups.group_images() > 1);
  REQUIRE(e.x.batch % groups.group_images() != 0);
  check(e);
}

TEST_CASE("convolution_by_winograd_in_groups_of_rows") {
  host::convolution_extents const e{{2, 260, 27, 23}, 80, {3, 1, 2}};
  REQUIRE(host::takes_winograd(e));
  auto const groups = host::detail::winograd_forward_extents(e);
  REQUIRE(groups.group_rows() > 1);
  REQUIRE(groups.tile_rows() % groups.group_rows() != 0);
  check(e);
}

TEST_CASE("a_part_of_a_convolution_needs_no_more_workspace_than_its_bound") {
  auto const parts = all_combinations({0, 1, 7, 35, 70}, {0, 1, 16, 47, 48}, {0, 1, 31, 96});
  for (auto const& [side, padding, extent, stride] :
       all_combinations({1, 2, 3, 8, 33, 64, 300}, {0, 1, 2}, {3, 5}, {1, 2})) {
    device::window const w{extent, stride, padding};
    auto const bound = host::convolution_workspace_bound({{70, 48, side, side + 1}, 96, w});
    for (auto const& [batch, in, out] : parts)
      CHECK(host::convolution_workspace({{batch, in, side, side + 1}, out, w}) <= bound);
  }
}

TEST_CASE("convolution_in_float_by_winograd_is_as_exact_as_by_im2col") {
  host::convolution_extents const e{{2, 40, 9, 10}, 24, {3, 1, 1}};
  auto const x = normals<float>(e.x.batch * e.x.channels * e.x.plane(), 1);
  auto const weight = normals<float>(e.outputs * e.inner(), 2);
  std::vector<float> strips(size_of(e.x.batch * e.outputs * e.y_plane())), winograd = strips;
  std::vector<float> workspace(size_of(host::convolution_workspace_bound(e)));
  float const* const none = nullptr;
  host::strips_forward(x.data(), weight.data(), none, e, workspace.data(), strips.data());
  host::winograd_forward(x.data(), weight.data(), none, e, workspace.data(), winograd.data());
  // Each sum has 360 products of about 1 (40 channels times 9 weights), so its rounding errors are
  // well below the tolerance.
  for (std::size_t i = 0; i < strips.size(); ++i) CHECK(std::abs(strips[i] - winograd[i]) < 1e-4f);
}

TEST_CASE("a_window_has_as_many_places_as_fit") {
  static_assert(device::window{3, 1, 0}.places(3) == 1);
  static_assert(device::window{3, 1, 0}.places(2) == 0);
  static_assert(device::window{3, 1, 1}.places(224) == 224);
  static_assert(device::window{11, 4, 2}.places(224) == 55);
  static_assert(device::window{3, 2, 0}.places(55) == 27);
  static_assert(device::window{3, 2, 0}.places(4) == 1);
}
