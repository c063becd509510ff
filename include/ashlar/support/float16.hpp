// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// float16, the half precision of IEEE 754, as an element type of files that other programs made,
// and of the wire `half` (plan/wire.hpp). No tensor has this type.
//
//   bit 15       sign
//   bits 14..10  exponent e
//   bits 9..0    fraction f
//
//   e = 0        f · 2^-24                     zero and the subnormal numbers
//   e = 31       infinity if f = 0, else NaN
//   other e      (1024 + f) · 2^(e - 25)
//
//   to float     exact, because every value is also a float; a NaN keeps its sign and its fraction
//   from float   rounds to nearest, ties to even; an overflow gives infinity; a NaN keeps its sign
//                and the upper bits of its fraction and becomes quiet

#include <bit>
#include <cstdint>
#include <type_traits>

namespace ashlar {

class float16 {
 public:
  float16() = default;

  static constexpr float16 from_bits(std::uint16_t bits) {
    float16 made{};
    made.bits_ = bits;
    return made;
  }
  constexpr explicit float16(float value) : bits_(rounded(std::bit_cast<std::uint32_t>(value))) {}
  constexpr std::uint16_t bits() const { return bits_; }

  template <class A>
    requires std::is_floating_point_v<A>
  constexpr explicit operator A() const {
    auto const sign = static_cast<std::uint32_t>(bits_ & 0x8000u) << 16;
    std::uint32_t const exponent = bits_ >> 10 & 0x1fu, fraction = bits_ & 0x3ffu;
    if (exponent == 0) {
      float const size = static_cast<float>(fraction) * 0x1p-24f;
      return static_cast<A>(sign == 0 ? size : -size);
    }
    // The bias of the exponent is 127 in a float and 15 in a float16.
    std::uint32_t const wide = exponent == 31 ? 255 : exponent + 112;
    return static_cast<A>(std::bit_cast<float>(sign | wide << 23 | fraction << 13));
  }

 private:
  static constexpr std::uint16_t rounded(std::uint32_t bits) {
    std::uint32_t const sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    std::uint32_t half = 0x7c00u;                                    // infinity
    if (size > 0x7f800000u) half = 0x7e00u | (size >> 13 & 0x3ffu);  // NaN
    else if (size < 0x38800000u)                                     // below 2^-14
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u;
    else if (size < 0x47800000u)  // below 2^16
      half = (size + 0xfffu + (size >> 13 & 1u) - (112u << 23)) >> 13;
    return static_cast<std::uint16_t>(sign | half);
  }

  std::uint16_t bits_;
};

static_assert(sizeof(float16) == 2 && std::is_trivial_v<float16>);

}  // namespace ashlar
