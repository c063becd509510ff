// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the conversion of every float16 value to float and double with the definition of the
// format, computed by std::ldexp.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include <ashlar/support/float16.hpp>

using ashlar::float16;

static_assert(static_cast<float>(float16::from_bits(0x3c00)) == 1.0f);
static_assert(static_cast<float>(float16::from_bits(0x7bff)) == 65504.0f);   // largest finite value
static_assert(static_cast<double>(float16::from_bits(0x8001)) == -0x1p-24);  // subnormal value
static_assert(static_cast<float>(float16::from_bits(0x03ff)) == 1023 * 0x1p-24f);
static_assert(static_cast<float>(float16::from_bits(0xfc00)) ==
              -std::numeric_limits<float>::infinity());

TEST_CASE("every float16 becomes the float and the double that the format defines") {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    CAPTURE(bits);
    auto const value = float16::from_bits(static_cast<std::uint16_t>(bits));
    float const made = static_cast<float>(value);
    double const wide = static_cast<double>(value);
    int const exponent = bits >> 10 & 31, fraction = bits & 1023;
    bool const is_negative = bits >= 1 << 15;
    REQUIRE(std::signbit(made) == is_negative);
    if (exponent == 31 && fraction != 0) {
      REQUIRE(std::isnan(made));
      REQUIRE(std::isnan(wide));
      REQUIRE((std::bit_cast<std::uint32_t>(made) & 0x7fffffu) ==
              static_cast<std::uint32_t>(fraction) << 13);
      continue;
    }
    double expected = std::ldexp(exponent == 0 ? fraction : 1024 + fraction,
                                 exponent == 0 ? -24 : exponent - 25);
    if (exponent == 31) expected = std::numeric_limits<double>::infinity();
    if (is_negative) expected = -expected;
    REQUIRE(static_cast<double>(made) == expected);
    REQUIRE(wide == expected);
  }
}
