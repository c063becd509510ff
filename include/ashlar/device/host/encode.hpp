// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Encodes and decodes blocks of n floats, for the wires of plan/wire.hpp that encode blocks. An
// encoded block has wire.bytes(n) bytes and may start at any address:
//
//   bf16, half   n numbers of 2 bytes
//   int8         a float scale for each 256 elements, then n signed bytes
//   one-bit      the mean magnitude as a float, then one bit per element: 1 if it is negative
//   top-k/m      the ⌈n/m⌉ elements with the largest magnitudes: first their positions in the
//                block, ascending, 4 bytes each, then the elements in the same order, as floats
//
// If an element of a block is not finite, at least one decoded element is not finite, so that the
// norm of the decoded gradient is not finite either. The wires bf16 and half also turn numbers that
// are too large for their 16 bits into infinity. Of elements with equal magnitude, top-k takes the
// first ones.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>

#include <ashlar/config.hpp>
#include <ashlar/plan/wire.hpp>
#include <ashlar/support/bfloat16.hpp>
#include <ashlar/support/float16.hpp>

namespace ashlar::device::host {

/// Encodes the n floats of x into `to`. `room` is a workspace of n floats, which only top-k uses.
/// Expects a wire that encodes blocks.
ASHLAR_INLINE void encode(wire_format const& wire, float const* x, std::int64_t n, float* room,
                          std::byte* to);

/// Says what `decode` does with the decoded elements: it stores them, adds them or subtracts them.
enum class decoded : signed char { stored, added, subtracted };

/// Decodes the block of n floats at `from`. Stores the floats in `to`, adds them to `to`, or
/// subtracts them from `to`, as `how` says. Elements that top-k has not sent count as zero.
ASHLAR_INLINE void decode(wire_format const& wire, std::byte const* from, std::int64_t n,
                          decoded how, float* to);

#if ASHLAR_DEFINES(TENSOR)
namespace detail {

/// Writes a number to `to`, which need not be aligned. Returns the address after the number.
template <class T>
std::byte* put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}
template <class T>
T number_at(std::byte const* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Half>
void encode_halves(float const* x, std::int64_t n, std::byte* to) {
  for (std::int64_t i = 0; i < n; ++i) put(to + 2 * i, Half(x[i]).bits());
}

inline void encode_int8(float const* x, std::int64_t n, std::byte* to) {
  std::byte* const elements = to + 4 * ((n + wire_format::block - 1) / wire_format::block);
  for (std::int64_t first = 0; first < n; first += wire_format::block) {
    std::int64_t const count = std::min(wire_format::block, n - first);
    // Compared as integers, the bits of two magnitudes have the same order as the magnitudes. The
    // bits of a NaN are the largest.
    std::uint32_t most = 0;
    for (std::int64_t i = 0; i < count; ++i)
      most = std::max(most, std::bit_cast<std::uint32_t>(x[first + i]) & 0x7fffffffu);
    bool const is_finite = most < 0x7f800000u;
    float const scale = is_finite ? std::bit_cast<float>(most) / 127
                                  : std::numeric_limits<float>::quiet_NaN();
    to = put(to, scale);
    std::int8_t block[wire_format::block]{};
    if (scale > 0)
      for (std::int64_t i = 0; i < count; ++i) {
        float const q = x[first + i] / scale;  // above 127.5 only if the scale is subnormal
        float const shifted = q + std::copysign(0.5f, q);
        block[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(shifted > 127    ? 127.0f
                                                                      : shifted < -127 ? -127.0f
                                                                                       : shifted));
      }
    std::memcpy(elements + first, block, static_cast<std::size_t>(count));
  }
}

inline void encode_one_bit(float const* x, std::int64_t n, std::byte* to) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::abs(static_cast<double>(x[i]));
  to = put(to, static_cast<float>(sum / static_cast<double>(n)));
  for (std::int64_t first = 0; first < n; first += 8) {
    unsigned bits = 0;
    for (std::int64_t i = first; i < std::min(first + 8, n); ++i)
      bits |= (x[i] < 0 ? 1u : 0u) << (i - first);
    *to++ = static_cast<std::byte>(bits);
  }
}

inline void encode_top_k(float const* x, std::int64_t n, std::int64_t k, float* room,
                         std::byte* to) {
  auto const size_of = [&](std::int64_t i) {
    float const size = std::abs(x[i]);
    return size <= std::numeric_limits<float>::max() ? size
                                                     : std::numeric_limits<float>::infinity();
  };
  for (std::int64_t i = 0; i < n; ++i) room[i] = size_of(i);
  std::nth_element(room, room + k - 1, room + n, std::greater<>());
  float const least = room[k - 1];
  std::int64_t equal = k;
  for (std::int64_t i = 0; i < k; ++i) equal -= room[i] > least;
  std::byte* values = to + 4 * k;
  for (std::int64_t i = 0; i < n; ++i) {
    float const size = size_of(i);
    if (size < least || (size == least && --equal < 0)) continue;
    to = put(to, static_cast<std::uint32_t>(i));
    values = put(values, x[i]);
  }
}

/// Calls take(i, value) for each decoded element i, but not for elements that top-k has not sent.
template <class Take>
void decode_each(wire_format const& wire, std::byte const* from, std::int64_t n, Take take) {
  switch (wire.kind) {
    case wire_kind::bf16:
      for (std::int64_t i = 0; i < n; ++i)
        take(i, static_cast<float>(bfloat16::from_bits(number_at<std::uint16_t>(from + 2 * i))));
      break;
    case wire_kind::half:
      for (std::int64_t i = 0; i < n; ++i)
        take(i, static_cast<float>(float16::from_bits(number_at<std::uint16_t>(from + 2 * i))));
      break;
    case wire_kind::int8: {
      std::byte const* const elements = from +
                                        4 * ((n + wire_format::block - 1) / wire_format::block);
      for (std::int64_t first = 0; first < n; first += wire_format::block, from += 4) {
        float const scale = number_at<float>(from);
        std::int64_t const end = std::min(first + wire_format::block, n);
        for (std::int64_t i = first; i < end; ++i)
          take(i, scale * static_cast<float>(static_cast<std::int8_t>(elements[i])));
      }
      break;
    }
    case wire_kind::one_bit: {
      auto const mean = number_at<std::uint32_t>(from);  // the bits of the mean magnitude
      from += 4;
      for (std::int64_t i = 0; i < n; ++i) {
        std::uint32_t const is_negative = static_cast<std::uint32_t>(from[i / 8]) >> (i % 8) & 1u;
        take(i, std::bit_cast<float>(mean ^ is_negative << 31));
      }
      break;
    }
    case wire_kind::top_k: {
      std::int64_t const k = wire.kept(n);
      for (std::int64_t i = 0; i < k; ++i)
        take(static_cast<std::int64_t>(number_at<std::uint32_t>(from + 4 * i)),
             number_at<float>(from + 4 * (k + i)));
      break;
    }
    case wire_kind::exact:
    case wire_kind::power_sgd: break;
  }
}

}  // namespace detail

ASHLAR_INLINE void encode(wire_format const& wire, float const* x, std::int64_t n, float* room,
                          std::byte* to) {
  if (n == 0) return;
  switch (wire.kind) {
    case wire_kind::bf16: return detail::encode_halves<bfloat16>(x, n, to);
    case wire_kind::half: return detail::encode_halves<float16>(x, n, to);
    case wire_kind::int8: return detail::encode_int8(x, n, to);
    case wire_kind::one_bit: return detail::encode_one_bit(x, n, to);
    case wire_kind::top_k: return detail::encode_top_k(x, n, wire.kept(n), room, to);
    case wire_kind::exact:
    case wire_kind::power_sgd: break;
  }
}

ASHLAR_INLINE void decode(wire_format const& wire, std::byte const* from, std::int64_t n,
                          decoded how, float* to) {
  if (n == 0) return;
  switch (how) {
    case decoded::stored:
      if (wire.kind == wire_kind::top_k) std::fill_n(to, n, 0.0f);
      return detail::decode_each(wire, from, n, [=](std::int64_t i, float v) { to[i] = v; });
    case decoded::added:
      return detail::decode_each(wire, from, n, [=](std::int64_t i, float v) { to[i] += v; });
    case decoded::subtracted:
      return detail::decode_each(wire, from, n, [=](std::int64_t i, float v) { to[i] -= v; });
  }
}
#endif

}  // namespace ashlar::device::host
