// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the balanced split with its definition, and tests when nested splits equal one flat
// split.

#include <doctest/doctest.h>
#include <range/v3/view/iota.hpp>
#include <support/combinations.hpp>
#include <support/naive_placement.hpp>

#include <ashlar/layout/shape.hpp>
#include <ashlar/layout/split.hpp>

using ashlar::balanced_part, ashlar::interval;
using ashlar_test::all_combinations;
using ranges::views::ints;

TEST_CASE("the first n mod p parts get one more, and the parts follow one another") {
  for (auto const& [p, n, begin] : all_combinations(ints(1, 10), ints(0, 41), std::vector{0, 13})) {
    std::int64_t at = begin;
    for (int i = 0; i < p; ++i) {
      auto const part = balanced_part({begin, n}, p, i);
      REQUIRE(part.begin == at);
      REQUIRE(part.size == n / p + (i < n % p ? 1 : 0));
      at = part.end();
    }
    REQUIRE(at == begin + n);
  }
}

TEST_CASE("the balanced split equals dealing out items one at a time") {
  for (auto const& [p, n] : all_combinations(ints(1, 7), ints(0, 21))) {
    std::vector<int> items(static_cast<std::size_t>(n));
    std::iota(items.begin(), items.end(), 0);
    for (int i = 0; i < p; ++i) {
      auto const part = balanced_part({0, n}, p, i);
      auto const naive = ashlar_test::dealt(items, p, i);
      REQUIRE(part.size == static_cast<std::int64_t>(naive.size()));
      if (!naive.empty()) REQUIRE(part.begin == naive.front());
    }
  }
}

TEST_CASE("the balanced split counts far beyond 32 bits") {
  std::int64_t const n = (std::int64_t{1} << 40) + 5;
  std::int64_t at = 0;
  for (int i = 0; i < 7; ++i) {
    auto const part = balanced_part({0, n}, 7, i);
    CHECK(part.begin == at);
    at = part.end();
  }
  CHECK(at == n);
}

TEST_CASE(
    "nested splits over a and b are one split over ab exactly if n mod ab is 0, 1 or ab - 1") {
  int merges = 0, cases = 0;
  for (auto const& [a, b, n] : all_combinations(ints(2, 9), ints(2, 9), ints(0, 400))) {
    bool equal = true;
    for (int i = 0; i < a; ++i)
      for (int j = 0; j < b; ++j)
        equal = equal && balanced_part(balanced_part({0, n}, a, i), b, j) ==
                             balanced_part({0, n}, a * b, i * b + j);
    int const rest = n % (a * b);
    REQUIRE(equal == (rest == 0 || rest == 1 || rest == a * b - 1));
    merges += equal;
    ++cases;
  }
  CHECK(cases == 7 * 7 * 400);
  CHECK(merges > 0);
  CHECK(merges < cases);
}

TEST_CASE("two rows over two by two ranks are the first case where nested and flat splits differ") {
  CHECK(balanced_part(balanced_part({0, 2}, 2, 1), 2, 0) == interval{1, 1});
  CHECK(balanced_part({0, 2}, 4, 2).size == 0);
}

TEST_CASE("intervals intersect like sets of indices") {
  auto const few = ints(0, 6);
  for (auto const& [a, m, b, n] : all_combinations(few, few, few, few)) {
    auto const common = ashlar::intersect(interval{a, m}, interval{b, n});
    std::int64_t count = 0;
    for (int i = 0; i < 12; ++i) {
      bool const both = i >= a && i < a + m && i >= b && i < b + n;
      count += both;
      if (both) REQUIRE((i >= common.begin && i < common.end()));
    }
    REQUIRE(common.size == count);
  }
}

TEST_CASE("shapes count their elements, print, and refuse too many elements") {
  CHECK(ashlar::shape{}.elements() == 1);
  CHECK(ashlar::shape{3, 0, 5}.elements() == 0);
  CHECK(ashlar::shape{512, 1024}.elements() == 524288);
  CHECK(ashlar::to_string(ashlar::shape{512, 1024}) == "512x1024");
  CHECK(ashlar::to_string(ashlar::shape{}) == "scalar");
  CHECK_NOTHROW(ashlar::check_extents({0, 5}, "zeros"));
  CHECK_NOTHROW(ashlar::check_extents({std::int64_t{1} << 29, std::int64_t{1} << 29}, "zeros"));
  CHECK_THROWS_AS(ashlar::check_extents({-1, 5}, "zeros"), ashlar::error);
  CHECK_THROWS_WITH_AS(ashlar::check_extents({3, -2}, "zeros"),
                       "zeros: negative extent in shape 3x-2.", ashlar::error);
  CHECK_THROWS_AS(ashlar::check_extents({std::int64_t{1} << 30, std::int64_t{1} << 29}, "zeros"),
                  ashlar::error);
}
