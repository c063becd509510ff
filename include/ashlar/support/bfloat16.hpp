// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// bfloat16: the upper half of a float, as an element type for storage and communication but not for
// arithmetic.
//
//   bit 15      sign
//   bits 14..7  exponent, the same as a float's
//   bits 6..0   the upper 7 of a float's 23 fraction bits
//
//   from float    rounds to nearest, ties to even; an overflow gives infinity; a NaN keeps its sign
//                 and the upper bits of its fraction and becomes quiet; on a CUDA device, where one
//                 instruction rounds, every NaN becomes 0x7fff
//   from double   gives the nearest bfloat16; rounding to float first and then to bfloat16 would
//                 round twice and sometimes give another one
//   from integers rounds once, also if a double cannot represent the integer
//   to float      exact
//
// The bit layout is the same as in CUDA's __nv_bfloat16. The only arithmetic operator is negation,
// which is exact. Every other operator would round its result, so that a long sum would be far from
// exact. Convert to float, compute, and convert back once.

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

namespace ashlar {

namespace detail {

/// Returns the bfloat16 nearest to the float with these bits; device/host/lanes.hpp converts
/// vectors in the same way.
constexpr std::uint16_t round_to_bfloat16(std::uint32_t bits) {
  bool const is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  std::uint32_t const nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40u : nearest);
}

/// Returns the bits of the bfloat16 nearest to `value`. In a kernel of a CUDA device, the rounding
/// in integers above would take as long as the memory accesses. So there, a single instruction
/// rounds.
constexpr std::uint16_t nearest_bfloat16(float value) {
#if defined(__CUDA_ARCH__)
  if (!std::is_constant_evaluated()) {
    std::uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
  }
#endif
  return round_to_bfloat16(std::bit_cast<std::uint32_t>(value));
}

/// Returns a float that rounds to the same bfloat16 as `value`. The function truncates `value` to a
/// float. If the float is not equal to `value`, the function sets the last bit of the float ("round
/// to odd"). Such a float is never a tie when it is rounded to bfloat16.
constexpr float round_to_odd(double value) {
  auto nearest = static_cast<float>(value);
  auto const back = static_cast<double>(nearest);
  if (back == value || value != value || nearest - nearest != 0.0f) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1u) == 0) bits += (value < 0 ? back < value : back > value) ? ~0u : 1u;
  return std::bit_cast<float>(bits);
}

/// Returns a double that rounds to the same bfloat16 as the integer `value`. A double has 53
/// significant bits. If the integer needs more, its last 12 bits are replaced: the highest of them
/// becomes 1 if any of them is set, and the other 11 become 0. So the conversion to double is
/// exact, and the result is a tie only if the integer is one.
template <std::integral Integer>
constexpr double double_of(Integer value) {
  if constexpr (sizeof(Integer) == 8) {
    bool const is_negative = std::is_signed_v<Integer> && static_cast<std::int64_t>(value) < 0;
    auto const bits = static_cast<std::uint64_t>(value);
    std::uint64_t size = is_negative ? 0 - bits : bits;
    if (size >> 53 != 0)
      size = (size & ~std::uint64_t{0xfff}) | ((size & 0xfff) != 0 ? 0x800u : 0u);
    auto const made = static_cast<double>(size);
    return is_negative ? -made : made;
  } else {
    return static_cast<double>(value);
  }
}

}  // namespace detail

class bfloat16 {
 public:
  bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits_(detail::nearest_bfloat16(value)) {}
  constexpr explicit bfloat16(double value) : bfloat16(detail::round_to_odd(value)) {}
  constexpr explicit bfloat16(std::integral auto value) : bfloat16(detail::double_of(value)) {}

  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 made(0.0f);
    made.bits_ = bits;
    return made;
  }
  constexpr std::uint16_t bits() const { return bits_; }

  template <class A>
    requires std::is_arithmetic_v<A>
  constexpr explicit operator A() const {
    return static_cast<A>(std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16));
  }

  constexpr bfloat16 operator-() const {
    return from_bits(static_cast<std::uint16_t>(bits_ ^ 0x8000u));
  }

  /// Compares like floats: -0 equals 0, and a NaN equals nothing.
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  friend constexpr auto operator<=>(bfloat16 a, bfloat16 b) {
    return static_cast<float>(a) <=> static_cast<float>(b);
  }

 private:
  std::uint16_t bits_;
};

/// Writes the value as a float.
inline std::ostream& operator<<(std::ostream& out, bfloat16 v) {
  return out << static_cast<float>(v);
}

static_assert(sizeof(bfloat16) == 2 && std::is_trivial_v<bfloat16>);

}  // namespace ashlar

template <>
class std::numeric_limits<ashlar::bfloat16> {
  static constexpr ashlar::bfloat16 of(std::uint16_t bits) {
    return ashlar::bfloat16::from_bits(bits);
  }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int min_exponent = std::numeric_limits<float>::min_exponent;
  static constexpr int min_exponent10 = std::numeric_limits<float>::min_exponent10;
  static constexpr int max_exponent = std::numeric_limits<float>::max_exponent;
  static constexpr int max_exponent10 = std::numeric_limits<float>::max_exponent10;
  static constexpr ashlar::bfloat16 min() { return of(0x0080); }
  static constexpr ashlar::bfloat16 max() { return of(0x7f7f); }
  static constexpr ashlar::bfloat16 lowest() { return of(0xff7f); }
  static constexpr ashlar::bfloat16 epsilon() { return of(0x3c00); }
  static constexpr ashlar::bfloat16 round_error() { return of(0x3f00); }
  static constexpr ashlar::bfloat16 infinity() { return of(0x7f80); }
  static constexpr ashlar::bfloat16 quiet_NaN() { return of(0x7fc0); }
  static constexpr ashlar::bfloat16 signaling_NaN() { return of(0x7fa0); }
  static constexpr ashlar::bfloat16 denorm_min() { return of(0x0001); }
};
