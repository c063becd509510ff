// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares conversions to bfloat16 with a reference. The reference finds the nearest bfloat16
// number by a binary search through all bit patterns, with distances in long double. At a tie, the
// reference takes the number whose last bit is 0. Also tests limits and comparisons of bfloat16.

#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <sstream>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/device/host/convert.hpp>
#include <ashlar/device/philox.hpp>
#include <ashlar/support/accumulation.hpp>

using ashlar::bfloat16;
using limits = std::numeric_limits<bfloat16>;

static_assert(static_cast<float>(bfloat16(1.0f)) == 1.0f);
static_assert(bfloat16(3).bits() == 0x4040 && (-bfloat16(3.0)).bits() == 0xc040);
static_assert(std::is_same_v<ashlar::accumulation_t<bfloat16>, float>);
static_assert(std::is_same_v<ashlar::accumulation_t<std::int32_t>, std::int32_t>);
static_assert(ashlar::size_of(ashlar::element_type_of<bfloat16>) == 2);
static_assert(ashlar::size_of(ashlar::element_type_of<std::int32_t>) == 4);
static_assert(ashlar::size_of(ashlar::element_type_of<double>) == 8);
static_assert(ashlar::identity_of<bfloat16>(ashlar::reduction::sum).bits() == 0);
static_assert(ashlar::identity_of<bfloat16>(ashlar::reduction::max).bits() == 0xff80);
static_assert(ashlar::identity_of<bfloat16>(ashlar::reduction::min).bits() == 0x7f80);

namespace {

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Returns the number that the bits of a bfloat16 represent. The sign bit must be 0. For the bits
/// of infinity, returns the number that would follow the largest finite one.
long double value_of(std::uint32_t bits) {
  int const exponent = static_cast<int>(bits >> 7);
  long double const fraction = static_cast<long double>(bits & 0x7fu) / 128;
  return exponent == 0 ? std::ldexp(fraction, -126) : std::ldexp(1 + fraction, exponent - 127);
}

std::uint16_t nearest(long double value) {
  std::uint32_t const sign = std::signbit(value) ? 0x8000u : 0;
  long double const size = std::fabs(value);
  // The search keeps value_of(low) <= size. The pattern 0x7f80 is infinity.
  std::uint32_t low = 0, high = 0x7f80;
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | high);
  while (high - low > 1) {
    std::uint32_t const middle = (low + high) / 2;
    (value_of(middle) <= size ? low : high) = middle;
  }
  long double const below = size - value_of(low), above = value_of(high) - size;
  bool const up = above < below || (above == below && low % 2 == 1);
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

}  // namespace

TEST_CASE("every_bit_pattern_survives_a_round_trip_through_float") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto const stored = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    auto const wide = static_cast<float>(stored);
    bool const is_nan = (bits & 0x7fffu) > 0x7f80u;
    auto const back = bfloat16(wide).bits();
    wrong += is_nan ? wide == wide || back != (bits | 0x40u) : back != bits;
    if (!is_nan && (bits & 0x7fffu) < 0x7f80u)
      wrong += static_cast<long double>(std::fabs(wide)) != value_of(bits & 0x7fffu);
    wrong += std::signbit(wide) != (bits >= 0x8000u);
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats_are_rounded_to_the_nearest_and_ties_to_even") {
  int wrong = 0;
  // Every upper half of a finite float is combined with lower halves that make the float a tie
  // between two bfloat16 numbers, a neighbor of a tie, or a number far from any tie.
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    if ((upper & 0x7fffu) >= 0x7f80u) continue;
    for (std::uint32_t lower : {0x0000u, 0x0001u, 0x4321u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      float const value = float_of(upper << 16 | lower);
      wrong += bfloat16(value).bits() != nearest(static_cast<long double>(value));
    }
  }
  CHECK(wrong == 0);
  CHECK(bfloat16(1.00390625f).bits() == 0x3f80);  // this tie rounds down to even
  CHECK(bfloat16(1.01171875f).bits() == 0x3f82);  // this tie rounds up to even
}

TEST_CASE("doubles_are_rounded_once") {
  int wrong = 0;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    std::uint64_t const upper = ashlar::device::random_word(1, 0, 2 * i);
    std::uint64_t const lower = ashlar::device::random_word(1, 0, 2 * i + 1);
    auto const value = std::bit_cast<double>(upper << 32 | lower);
    if (value != value) continue;
    wrong += bfloat16(value).bits() != nearest(static_cast<long double>(value));
    // The two doubles next to a tie are so close to it that a conversion to float would turn them
    // into the tie.
    auto const tie = static_cast<double>(
        float_of(static_cast<std::uint32_t>(upper) << 16 | 0x8000));
    for (double const near : {std::nextafter(tie, HUGE_VAL), std::nextafter(tie, -HUGE_VAL), tie})
      if (std::isfinite(near))
        wrong += bfloat16(near).bits() != nearest(static_cast<long double>(near));
  }
  CHECK(wrong == 0);
  CHECK(bfloat16(1e300) == limits::infinity());
  CHECK(bfloat16(-1e-300).bits() == 0x8000);
}

TEST_CASE("integers_are_rounded_once") {
  // `tie` rounds down to even. A conversion to double would lose the addend 1 of the other integers
  // and turn them into ties.
  std::int64_t const tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 52);
  float const above = std::ldexp(1.0f, 60) + std::ldexp(1.0f, 53);
  CHECK(static_cast<float>(bfloat16(tie)) == std::ldexp(1.0f, 60));
  CHECK(static_cast<float>(bfloat16(tie + 1)) == above);
  CHECK(static_cast<float>(bfloat16(-tie - 1)) == -above);
  CHECK(static_cast<float>(bfloat16(8 * static_cast<std::uint64_t>(tie) + 1)) == 8 * above);
  int wrong = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    std::uint64_t const upper = ashlar::device::random_word(2, 0, 2 * i);
    std::uint64_t const lower = ashlar::device::random_word(2, 0, 2 * i + 1);
    std::uint64_t const any = (upper << 32 | lower) >> (i % 64);
    // `middle` is the tie between the two bfloat16 numbers around `any`, or `any` itself if it has
    // few bits. The loop below also tests the neighbors of `middle`.
    int const last = 55 - std::countl_zero(any | 1);
    std::uint64_t const half = last >= 0 ? std::uint64_t{1} << last : 0;
    std::uint64_t const middle = half == 0 ? any : (any & ~(2 * half - 1)) | half;
    for (std::uint64_t const value : {any, middle - 1, middle, middle + 1}) {
      auto const whole = static_cast<std::int64_t>(value);
      wrong += bfloat16(value).bits() != nearest(static_cast<long double>(value));
      wrong += bfloat16(whole).bits() != nearest(static_cast<long double>(whole));
    }
  }
  CHECK(wrong == 0);
  auto const least = std::numeric_limits<std::int64_t>::min();
  CHECK(static_cast<float>(bfloat16(least)) == -std::ldexp(1.0f, 63));
}

TEST_CASE("infinities_and_nans_are_preserved") {
  float const inf = std::numeric_limits<float>::infinity();
  CHECK(bfloat16(inf) == limits::infinity());
  CHECK(bfloat16(-inf) == -limits::infinity());
  CHECK(bfloat16(std::numeric_limits<float>::max()) == limits::infinity());
  CHECK(bfloat16(float_of(0x7f7f7fff)) == limits::max());
  // Rounding must not turn a NaN into an infinity, even if the NaN's fraction bits are set only in
  // the lower half of the float. Rounding must also not carry into the sign bit.
  for (std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0x7fc00000u}) {
    auto const nan = bfloat16(float_of(bits));
    CHECK(nan != nan);
    CHECK((nan.bits() & 0x40u) != 0);
    CHECK((nan.bits() >> 15) == (bits >> 31));
  }
}

TEST_CASE("limits_are_the_extreme_patterns") {
  CHECK(static_cast<float>(limits::max()) == float_of(0x7f7f0000));
  CHECK(limits::lowest() == -limits::max());
  CHECK(static_cast<float>(limits::min()) == std::numeric_limits<float>::min());
  CHECK(static_cast<float>(limits::epsilon()) == 0x1p-7f);
  CHECK(static_cast<float>(limits::denorm_min()) == 0x1p-133f);
  CHECK(limits::quiet_NaN() != limits::quiet_NaN());
}

TEST_CASE("comparison_is_that_of_floats") {
  CHECK(bfloat16(-0.0f) == bfloat16(0.0f));
  CHECK(bfloat16(-2) < bfloat16(1));
  CHECK(limits::lowest() > -limits::infinity());
  CHECK((limits::quiet_NaN() <=> bfloat16(1)) == std::partial_ordering::unordered);
  std::ostringstream text;
  text << bfloat16(1.5f);
  CHECK(text.str() == "1.5");
}

TEST_CASE("arrays_are_converted_as_single_values_are") {
  for (std::int64_t n : {0, 1, 15, 16, 31, 32, 33, 64, 101}) {
    auto const count = static_cast<std::size_t>(n);
    std::vector<float> wide(count), widened(count);
    std::vector<bfloat16> stored(count);
    int wrong = 0;
    for (std::uint64_t round = 0; round < 200; ++round) {
      for (std::size_t i = 0; i < count; ++i)
        wide[i] = float_of(ashlar::device::random_word(7, round, i) |
                           (i % 5 == 0 ? 0x7f800000u : 0));
      ashlar::device::host::narrow(wide.data(), n, stored.data());
      ashlar::device::host::widen(stored.data(), n, widened.data());
      for (std::size_t i = 0; i < count; ++i) {
        wrong += stored[i].bits() != bfloat16(wide[i]).bits();
        wrong += std::bit_cast<std::uint32_t>(widened[i]) != std::uint32_t{stored[i].bits()} << 16;
      }
    }
    CHECK(wrong == 0);
  }
}
