// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Standard normal random numbers. The number at an index depends only on (seed, stream, index). The
// method of Box and Muller makes two normal numbers from two random words. A block of the random
// number generator (philox.hpp) has four words. Block b gives the numbers at four indices:
//
//   indices 4b, 4b + 1       r cos(angle), r sin(angle)   from words 0 and 1 of block b
//   indices 4b + 2, 4b + 3   r cos(angle), r sin(angle)   from words 2 and 3 of block b
//
//   r = sqrt(-2 ln u)   with u = (first word + 1/2) / 2^32
//   angle               = 2 pi (second word) / 2^32
//
// Values are computed in double, with the logarithm, sine and cosine of this file (error below
// 1e-11), and rounded at the end. So a float is the rounded double. The last bits of a double may
// differ between compilers and between host and device, because a compiler may fuse a product and a
// sum into one instruction. No value is larger than 6.77 in magnitude.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>
#include <ashlar/device/philox.hpp>

namespace ashlar::device {

namespace detail {

/// Returns ln x for x > 0 that is not subnormal. Let x = 2^k m with m in [sqrt(1/2), sqrt(2)). Then
/// ln x = k ln 2 + 2 artanh((m - 1) / (m + 1)). A polynomial computes artanh.
[[gnu::always_inline]] ASHLAR_HD inline double natural_logarithm(double x) {
  std::uint64_t const bits = __builtin_bit_cast(std::uint64_t, x);
  std::uint64_t const lifted = bits + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  // lifted >> 52 is the integer k + 1023, the biased exponent. It is converted to double without a
  // conversion instruction. If an integer is added to the bits of the double 1.5 * 2^52, the value
  // of this double increases by that integer. Subtracting 1.5 * 2^52 and the bias leaves k.
  double const k = __builtin_bit_cast(double, (lifted >> 52) + 0x4338000000000000ull) -
                   (6755399441055744.0 + 1023.0);
  double const m = __builtin_bit_cast(double,
                                      (lifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
  double const s = (m - 1.0) / (m + 1.0);
  double const z = s * s;
  double p = 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  return 2.0 * s * p + k * 0.69314718055994530942;
}

}  // namespace detail

struct normal_pair {
  double first;
  double second;
};

/// Returns two independent standard normal numbers, computed from two random words by the method of
/// Box and Muller.
[[gnu::always_inline]] ASHLAR_HD inline normal_pair normals_from_words(std::uint32_t radius_word,
                                                                       std::uint32_t angle_word) {
  double const u = (static_cast<double>(radius_word) + 0.5) * 0x1p-32;
  double const r = math::sqrt(-2.0 * detail::natural_logarithm(u));
  // The angle is angle_word / 2^32 of a full rotation. Split the angle into the nearest multiple of
  // a quarter of a rotation and a remainder in [-1/8, 1/8) of a rotation. The multiple and the
  // remainder are exact, because they are computed in integers.
  std::uint32_t const quarter = (angle_word + 0x20000000u) >> 30;
  auto const remainder = static_cast<std::int32_t>(angle_word - (quarter << 30));
  double const a = static_cast<double>(remainder) * (0x1p-32 * 6.28318530717958647693);
  double const z = a * a;
  double s = 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  s = s * z * a + a;
  double c = 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = c * z - 0.5;
  c = c * z + 1.0;
  bool const swapped = (quarter & 1u) != 0;
  double const cosine = swapped ? s : c;
  double const sine = swapped ? c : s;
  bool const left = ((quarter + 1u) & 2u) != 0;
  bool const below = (quarter & 2u) != 0;
  return {r * (left ? -cosine : cosine), r * (below ? -sine : sine)};
}

/// Returns the standard normal random number at one index. The number depends only on (seed,
/// stream, index).
template <class T>
ASHLAR_HD T normal(std::uint64_t seed, std::uint64_t stream, std::int64_t index) {
  auto const i = static_cast<std::uint64_t>(index);
  philox_block const block = random_block(seed, stream, i / 4);
  std::uint64_t const pair = (i % 4) / 2;
  normal_pair const z = normals_from_words(block.word[2 * pair], block.word[2 * pair + 1]);
  return static_cast<T>(i % 2 == 0 ? z.first : z.second);
}

}  // namespace ashlar::device
