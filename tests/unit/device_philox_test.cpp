// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/random.hpp>
#include <ashlar/device/normal.hpp>
#include <ashlar/device/philox.hpp>
#include <ashlar/device/uniform_range.hpp>

#include "device_reference.hpp"

namespace device = ashlar::device;
using ashlar::test::size_of;

namespace {

constexpr bool equal(device::philox_block const& a, device::philox_block const& b) {
  return a.word[0] == b.word[0] && a.word[1] == b.word[1] && a.word[2] == b.word[2] &&
         a.word[3] == b.word[3];
}

// These known answers are from the file kat_vectors of Random123 1.14, for philox 4x32 with 10
// rounds.
constexpr std::uint32_t ones = 0xffffffffu;
static_assert(equal(device::philox4x32({{0, 0, 0, 0}}, 0, 0),
                    {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}}));
static_assert(equal(device::philox4x32({{ones, ones, ones, ones}}, ones, ones),
                    {{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}}));
static_assert(equal(device::philox4x32({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}},
                                       0xa4093822u, 0x299f31d0u),
                    {{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}}));
static_assert(device::uniform_from_word<float>(0xffffffffu) < 1.0f);
static_assert(device::uniform_from_word<double>(0xffffffffu) < 1.0);

}  // namespace

TEST_CASE("philox_at_run_time_equals_the_published_vector") {
  volatile std::uint32_t zero = 0;
  auto const block = device::philox4x32({{zero, zero, zero, zero}}, zero, zero);
  CHECK(equal(block, {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}}));
}

TEST_CASE_TEMPLATE("block_fills_equal_the_pointwise_functions_bit_for_bit", T, float, double) {
  std::int64_t const far = (std::int64_t{1} << 40) + 7;
  for (std::int64_t first : {std::int64_t{0}, std::int64_t{1}, std::int64_t{6}, std::int64_t{255},
                             std::int64_t{1023}, far}) {
    for (std::int64_t n : {0, 1, 2, 3, 5, 64, 257, 1031}) {
      std::vector<T> u(size_of(n));
      std::vector<T> z(size_of(n));
      device::host::fill_uniform(3, 9, first, n, T(0), T(1), u.data());
      device::host::fill_normal(3, 9, first, n, T(0), T(1), z.data());
      int wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        wrong += u[size_of(i)] != device::uniform<T>(3, 9, first + i);
        wrong += z[size_of(i)] != device::normal<T>(3, 9, first + i);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE_TEMPLATE("uniform_numbers_are_below_their_upper_bound", T, float, double,
                   ashlar::bfloat16) {
  using A = ashlar::accumulation_t<T>;
  struct range {
    A low, high;
  };
  for (auto const& [low, high] :
       {range{0, 1}, {1, 2}, {-1, 0}, {-3, -2}, {A(0.25), A(1.0009765625)}, {A(1e30), A(2e30)}}) {
    device::uniform_range<T> const of_words(low, high);
    CHECK(static_cast<A>(of_words(ones)) < high);
    CHECK(static_cast<A>(of_words(0)) == static_cast<A>(T(low)));
    std::vector<T> values(5000);
    device::host::fill_uniform(3, 9, 0, 5000, low, high, values.data());
    int wrong = 0;
    for (T const v : values) wrong += !(static_cast<A>(v) < high);
    CHECK(wrong == 0);
  }
  CHECK(static_cast<A>(device::uniform_range<T>(2, 2)(ones)) == 2);
}

TEST_CASE("the_largest_bfloat16_below_a_bound") {
  auto const largest = [](float low, float high) {
    return static_cast<float>(device::uniform_range<ashlar::bfloat16>(low, high)(ones));
  };
  CHECK(largest(0, 1) == 1 - 0x1p-8f);
  CHECK(largest(-3, -2) == -2 - 0x1p-6f);
  CHECK(largest(0, 1.0009765625f) == 1);  // the bound itself is not a bfloat16
  CHECK(largest(-1, 0) < 0);
}

TEST_CASE("float_draws_are_the_double_draws_rounded") {
  for (std::int64_t i = 0; i < 20000; ++i) {
    CHECK(device::normal<float>(1, 2, i) == static_cast<float>(device::normal<double>(1, 2, i)));
    CHECK(std::abs(static_cast<double>(device::uniform<float>(1, 2, i)) -
                   device::uniform<double>(1, 2, i)) < 0x1p-24);
  }
}

TEST_CASE("normals_follow_box_and_muller") {
  double const turn = 2 * std::acos(-1.0);
  for (std::int64_t pair = 0; pair < 20000; ++pair) {
    std::uint32_t const first = device::random_word(5, 6, static_cast<std::uint64_t>(2 * pair));
    std::uint32_t const second = device::random_word(5, 6,
                                                     static_cast<std::uint64_t>(2 * pair + 1));
    double const r = std::sqrt(-2 * std::log((first + 0.5) * 0x1p-32));
    double const angle = turn * second * 0x1p-32;
    CHECK(std::abs(device::normal<double>(5, 6, 2 * pair) - r * std::cos(angle)) < 1e-11);
    CHECK(std::abs(device::normal<double>(5, 6, 2 * pair + 1) - r * std::sin(angle)) < 1e-11);
  }
  for (std::uint32_t word : {0u, 1u, 0x1fffffffu, 0x20000000u, 0x80000000u, 0xffffffffu}) {
    auto const z = device::normals_from_words(word, word);
    double const r = std::sqrt(-2 * std::log((word + 0.5) * 0x1p-32));
    CHECK(std::abs(z.first - r * std::cos(turn * word * 0x1p-32)) < 1e-11);
    CHECK(std::abs(z.second - r * std::sin(turn * word * 0x1p-32)) < 1e-11);
  }
}

TEST_CASE("normals_have_the_moments_of_a_normal_distribution") {
  std::int64_t const n = 400000;
  std::vector<float> z(size_of(n));
  device::host::fill_normal(11, 0, 0, n, 2.0f, 3.0f, z.data());
  double sum = 0;
  double square = 0;
  double fourth = 0;
  for (float value : z) {
    double const v = (static_cast<double>(value) - 2) / 3;
    sum += v;
    square += v * v;
    fourth += v * v * v * v;
  }
  CHECK(std::abs(sum / n) < 0.01);
  CHECK(std::abs(square / n - 1) < 0.01);
  CHECK(std::abs(fourth / n - 3) < 0.1);
}

TEST_CASE("seeds_and_streams_give_different_numbers") {
  CHECK(device::random_word(1, 0, 0) != device::random_word(2, 0, 0));
  CHECK(device::random_word(1, 0, 0) != device::random_word(1, 1, 0));
  CHECK(device::random_word(1, 0, 0) != device::random_word(1, std::uint64_t{1} << 32, 0));
  CHECK(device::random_word(1, 0, 0) != device::random_word(1ull + (1ull << 32), 0, 0));
}
