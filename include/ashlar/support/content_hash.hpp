// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A hash of bytes: XXH64, as its specification defines it
// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). Ranks compare hashes to find
// out whether they were given the same data, and checkpoints have hashes of their files. The hash
// detects accidental differences, not forged ones.
//
//   content_hash(values)                      the hash of an array
//   content_hasher h; h.add(...); h.value()   the hash of bytes that come in parts

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace ashlar {

/// Computes the hash of bytes that are given part by part. The result does not depend on how they
/// are divided into parts.
class content_hasher {
 public:
  explicit content_hasher(std::uint64_t seed = 0)
      : seed_(seed), lanes_{seed + p1 + p2, seed + p2, seed, seed - p1} {}

  void add(void const* data, std::size_t bytes) {
    if (bytes == 0) return;
    auto const* next = static_cast<unsigned char const*>(data);
    bytes_ += bytes;
    if (waiting_ > 0) {  // fills the block that an earlier part has begun
      std::size_t const more = std::min(bytes, block_.size() - waiting_);
      std::memcpy(block_.data() + waiting_, next, more);
      waiting_ += more, next += more, bytes -= more;
      if (waiting_ < block_.size()) return;
      add_block(block_.data());
    }
    for (; bytes >= block_.size(); bytes -= block_.size(), next += block_.size()) add_block(next);
    if (bytes > 0) std::memcpy(block_.data(), next, bytes);
    waiting_ = bytes;
  }

  std::uint64_t value() const {
    std::uint64_t h = seed_ + p5;
    if (bytes_ >= block_.size()) {
      h = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
          std::rotl(lanes_[3], 18);
      for (auto const lane : lanes_) h = (h ^ round(0, lane)) * p1 + p4;
    }
    h += bytes_;
    unsigned char const* next = block_.data();
    std::size_t left = waiting_;
    for (; left >= 8; left -= 8, next += 8)
      h = std::rotl(h ^ round(0, number<std::uint64_t>(next)), 27) * p1 + p4;
    if (left >= 4) {
      h = std::rotl(h ^ (number<std::uint32_t>(next) * p1), 23) * p2 + p3;
      left -= 4, next += 4;
    }
    for (; left > 0; --left, ++next) h = std::rotl(h ^ (*next * p5), 11) * p1;
    h = (h ^ (h >> 33)) * p2;
    h = (h ^ (h >> 29)) * p3;
    return h ^ (h >> 32);
  }

 private:
  static constexpr std::uint64_t p1 = 0x9e3779b185ebca87u, p2 = 0xc2b2ae3d27d4eb4fu,
                                 p3 = 0x165667b19e3779f9u, p4 = 0x85ebca77c2b2ae63u,
                                 p5 = 0x27d4eb2f165667c5u;

  static constexpr std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
    return std::rotl(lane + word * p2, 31) * p1;
  }
  /// Returns the little-endian number that begins at `from`.
  template <class Word>
  static std::uint64_t number(unsigned char const* from) {
    if constexpr (std::endian::native == std::endian::little) {
      Word word;
      std::memcpy(&word, from, sizeof word);
      return word;
    } else {
      std::uint64_t word = 0;
      for (std::size_t i = sizeof(Word); i > 0; --i) word = word << 8 | from[i - 1];
      return word;
    }
  }
  /// Adds a block of 32 bytes, 8 to each lane. The lanes do not depend on each other, so the
  /// processor overlaps their multiplications.
  void add_block(unsigned char const* from) {
    for (std::size_t k = 0; k < lanes_.size(); ++k)
      lanes_[k] = round(lanes_[k], number<std::uint64_t>(from + 8 * k));
  }

  std::uint64_t seed_;
  std::array<std::uint64_t, 4> lanes_;
  std::uint64_t bytes_ = 0;                // the number of bytes of all parts so far
  std::array<unsigned char, 32> block_{};  // the last bytes, if they do not fill a block
  std::size_t waiting_ = 0;                // the number of bytes in block_
};

/// Returns equal numbers for equal bytes. For different bytes, the numbers almost certainly differ.
/// `seed` may be the hash of other data, so that the result depends on both.
inline std::uint64_t content_hash(void const* data, std::size_t bytes, std::uint64_t seed = 0) {
  content_hasher h(seed);
  h.add(data, bytes);
  return h.value();
}

/// Returns the hash of the bytes of an array. `seed` may be the hash of other data, so that the
/// result depends on both.
template <class T>
std::uint64_t content_hash(std::span<T const> values, std::uint64_t seed = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  return content_hash(values.data(), values.size_bytes(), seed);
}

}  // namespace ashlar
