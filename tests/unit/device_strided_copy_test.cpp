// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>
#include <support/combinations.hpp>

#include <ashlar/device/host/strided_copy.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;
using ashlar_test::all_combinations;
using extents = std::vector<std::int64_t>;

namespace {

template <class T>
struct block {
  extents strides;
  std::vector<T> data;
};

/// Returns a block of extents e. `order` lists its dimensions in memory, outermost first. Each
/// dimension occupies `pad` elements more than its extent.
template <class T>
block<T> make_block(extents const& e, std::vector<int> const& order, std::int64_t pad) {
  block<T> made{extents(e.size()), {}};
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    made.strides[size_of(order[i])] = stride;
    stride *= e[size_of(order[i])] + pad;
  }
  made.data.resize(size_of(stride));
  for (std::size_t i = 0; i < made.data.size(); ++i) made.data[i] = static_cast<T>(i % 8191);
  return made;
}

template <class F>
void for_each_index(extents const& e, extents const& from, extents const& to, F f) {
  std::int64_t total = 1;
  for (std::int64_t n : e) total *= n;
  for (std::int64_t flat = 0; flat < total; ++flat) {
    std::int64_t rest = flat;
    std::int64_t source = 0;
    std::int64_t target = 0;
    for (std::size_t d = e.size(); d-- > 0;) {
      source += rest % e[d] * from[d];
      target += rest % e[d] * to[d];
      rest /= e[d];
    }
    f(size_of(source), size_of(target));
  }
}

template <class T>
void check(extents const& e, std::vector<int> const& from, std::vector<int> const& to,
           std::int64_t pad) {
  auto const src = make_block<T>(e, from, pad);
  auto dst = make_block<T>(e, to, 2 * pad);
  auto copied = dst.data;
  for_each_index(e, src.strides, dst.strides, [&](std::size_t source, std::size_t target) {
    copied[target] = src.data[source];
  });
  host::copy_strided(static_cast<int>(e.size()), e.data(), src.data.data(), src.strides.data(),
                     dst.data.data(), dst.strides.data());
  CHECK(dst.data == copied);
}

}  // namespace

TEST_CASE_TEMPLATE("strided_blocks_equal_the_index_loop_in_every_order", T, float, double,
                   std::int32_t, std::int16_t) {
  for (std::int64_t pad : {0, 1}) {
    check<T>({}, {}, {}, pad);
    check<T>({37}, {0}, {0}, pad);
    check<T>({0, 5}, {0, 1}, {1, 0}, pad);
    for (auto const& e : {extents{65, 130}, extents{64, 64}, extents{1, 7}, extents{9, 3}}) {
      check<T>(e, {0, 1}, {0, 1}, pad);
      check<T>(e, {0, 1}, {1, 0}, pad);
    }
    std::vector<std::vector<int>> const orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                               {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (auto const& [from, to] : all_combinations(orders, orders)) {
      check<T>({5, 17, 9}, from, to, pad);
      check<T>({4, 1, 3}, from, to, pad);
    }
    check<T>({2, 3, 1, 2, 3, 2, 1, 2}, {7, 6, 5, 4, 3, 2, 1, 0}, {0, 2, 1, 3, 4, 6, 5, 7}, pad);
  }
}

TEST_CASE("planes_larger_than_a_block_are_transposed") {
  check<float>({1030, 1100}, {0, 1}, {1, 0}, 0);
  check<double>({1100, 1030}, {1, 0}, {0, 1}, 1);
}

TEST_CASE_TEMPLATE("large_planes_whose_rows_begin_at_lines_are_transposed", T, float, double,
                   std::int16_t) {
  // The distance between rows of the result is a multiple of 64 bytes, so cache lines begin at the
  // same columns in all rows.
  check<T>({1056, 1101}, {0, 1}, {1, 0}, 0);
  check<T>({1118, 1999}, {0, 1}, {1, 0}, 1);
  check<T>({2, 544, 2011}, {0, 1, 2}, {0, 2, 1}, 0);
  check<T>({544, 3, 1011}, {1, 0, 2}, {2, 1, 0}, 0);
}

TEST_CASE("short_rows_are_copied_whatever_their_length") {
  for (std::int64_t n = 1; n < 80; ++n) {
    check<std::int16_t>({7, n}, {0, 1}, {0, 1}, 1);
    check<double>({3, 2, n}, {0, 1, 2}, {1, 0, 2}, 1);
  }
  for (std::int64_t n : {255, 256, 257, 511, 512, 513})
    check<unsigned char>({5, n}, {0, 1}, {0, 1}, 3);
}

TEST_CASE("rows_beyond_the_caches_are_copied") {
  check<float>({2101, 1003}, {0, 1}, {0, 1}, 3);
  check<std::int16_t>({9, 500, 1009}, {0, 1, 2}, {1, 0, 2}, 1);
}

TEST_CASE("a_source_stride_of_zero_broadcasts_and_a_negative_one_reverses") {
  std::vector<float> const src{1, 2, 3};
  std::vector<float> dst(6);
  extents const e{2, 3};
  extents const to{3, 1};
  extents const rows{0, 1};
  host::copy_strided(2, e.data(), src.data(), rows.data(), dst.data(), to.data());
  CHECK(dst == std::vector<float>{1, 2, 3, 1, 2, 3});
  extents const back{0, -1};
  host::copy_strided(2, e.data(), src.data() + 2, back.data(), dst.data(), to.data());
  CHECK(dst == std::vector<float>{3, 2, 1, 3, 2, 1});
}

TEST_CASE("contiguous_dims_merge_into_one_run") {
  extents const e{4, 1, 5, 6};
  extents const strides{30, 99, 6, 1};
  auto const loop = host::canonical_loop(4, e.data(), strides.data(), strides.data());
  CHECK(loop.rank == 1);
  CHECK(loop.dim[0].extent == 120);
  CHECK_THROWS_AS(host::canonical_loop(9, e.data(), strides.data(), strides.data()),
                  std::invalid_argument);
}
