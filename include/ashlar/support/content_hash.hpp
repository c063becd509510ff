// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A hash of bytes in memory: XXH64, as its specification defines it
// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). Ranks compare hashes to find
// out whether they were given the same data. The hash detects accidental differences, not forged
// ones.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace ashlar {

namespace detail {

struct xxh64 {
  static constexpr std::uint64_t p1 = 0x9e3779b185ebca87u, p2 = 0xc2b2ae3d27d4eb4fu,
                                 p3 = 0x165667b19e3779f9u, p4 = 0x85ebca77c2b2ae63u,
                                 p5 = 0x27d4eb2f165667c5u;

  static constexpr std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
    return std::rotl(lane + word * p2, 31) * p1;
  }
  static constexpr std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
    return (hash ^ round(0, lane)) * p1 + p4;
  }
  /// Returns the little-endian number that begins at `from`, and moves `from` behind it.
  template <class Word>
  static std::uint64_t take(unsigned char const*& from) {
    static_assert(std::endian::native == std::endian::little);
    Word word;
    std::memcpy(&word, from, sizeof word);
    from += sizeof word;
    return word;
  }
};

}  // namespace detail

/// Returns equal numbers for equal bytes. For different bytes, the numbers almost certainly differ.
/// `seed` may be the hash of other data, so that the result depends on both.
inline std::uint64_t content_hash(void const* data, std::size_t bytes, std::uint64_t seed = 0) {
  using x = detail::xxh64;
  auto const* next = static_cast<unsigned char const*>(data);
  std::size_t left = bytes;
  std::uint64_t h = seed + x::p5;
  if (left >= 32) {
    // The lanes do not depend on each other, so the processor overlaps their multiplications.
    std::array<std::uint64_t, 4> lanes{seed + x::p1 + x::p2, seed + x::p2, seed, seed - x::p1};
    for (; left >= 32; left -= 32)
      for (auto& lane : lanes) lane = x::round(lane, x::take<std::uint64_t>(next));
    h = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
        std::rotl(lanes[3], 18);
    for (auto const lane : lanes) h = x::merge(h, lane);
  }
  h += bytes;
  for (; left >= 8; left -= 8)
    h = std::rotl(h ^ x::round(0, x::take<std::uint64_t>(next)), 27) * x::p1 + x::p4;
  if (left >= 4) {
    h = std::rotl(h ^ (x::take<std::uint32_t>(next) * x::p1), 23) * x::p2 + x::p3;
    left -= 4;
  }
  for (; left > 0; --left) h = std::rotl(h ^ (x::take<unsigned char>(next) * x::p5), 11) * x::p1;
  h = (h ^ (h >> 33)) * x::p2;
  h = (h ^ (h >> 29)) * x::p3;
  return h ^ (h >> 32);
}

/// Returns the hash of an array.
template <class T>
std::uint64_t content_hash(std::span<T const> values, std::uint64_t seed = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  return content_hash(values.data(), values.size_bytes(), seed);
}

}  // namespace ashlar
