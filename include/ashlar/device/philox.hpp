// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The random number generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers,
// as easy as 1, 2, 3; SC 2011). The generator is a function of a 128-bit counter and a 64-bit key.
// The result is a block of four random words of 32 bits. The random word of a tensor element
// depends only on (seed, stream, index). `stream` is the number of a random sequence, and `index`
// is the index of the element in the whole tensor. So the values of a tensor do not depend on the
// number of ranks that share it, nor on the order in which the values are generated.
//
//   key       the seed
//   counter   index / 4 in the lower 64 bits, the stream in the upper 64 bits
//   word      the word with number index % 4 of the block
//
// The uniform float and the uniform double at one index agree in the upper 24 bits. Normal numbers
// are in normal.hpp.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/config.hpp>

namespace ashlar::device {

/// A block of four random words, or the four words of a counter of the Philox generator.
struct philox_block {
  std::uint32_t word[4];
};

namespace detail {

ASHLAR_HD constexpr philox_block philox_round(philox_block const& c, std::uint32_t key_low,
                                              std::uint32_t key_high) {
  std::uint64_t const even = std::uint64_t{0xD2511F53u} * c.word[0];
  std::uint64_t const odd = std::uint64_t{0xCD9E8D57u} * c.word[2];
  return {{static_cast<std::uint32_t>(odd >> 32) ^ c.word[1] ^ key_low,
           static_cast<std::uint32_t>(odd),
           static_cast<std::uint32_t>(even >> 32) ^ c.word[3] ^ key_high,
           static_cast<std::uint32_t>(even)}};
}

// A fold expression unrolls the ten rounds. With a loop instead, the compiler would not vectorise
// the loops over indices that call this function.
template <std::size_t... Round>
ASHLAR_HD constexpr philox_block philox_rounds(philox_block c, std::uint32_t key_low,
                                               std::uint32_t key_high,
                                               std::index_sequence<Round...>) {
  ((c = philox_round(c, key_low + static_cast<std::uint32_t>(Round) * 0x9E3779B9u,
                     key_high + static_cast<std::uint32_t>(Round) * 0xBB67AE85u)),
   ...);
  return c;
}

}  // namespace detail

/// Returns the block of four random words for a counter and a key, by the Philox4x32-10 generator.
ASHLAR_HD constexpr philox_block philox4x32(philox_block const& counter, std::uint32_t key_low,
                                            std::uint32_t key_high) {
  return detail::philox_rounds(counter, key_low, key_high, std::make_index_sequence<10>{});
}

/// Returns the random words of the four indices 4 * block to 4 * block + 3.
ASHLAR_HD constexpr philox_block random_block(std::uint64_t seed, std::uint64_t stream,
                                              std::uint64_t block) {
  return philox4x32(
      {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// Returns the random word at one index. The word depends only on (seed, stream, index).
ASHLAR_HD constexpr std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream,
                                              std::uint64_t index) {
  return random_block(seed, stream, index / 4).word[index % 4];
}

/// Converts a random word to a number in [0, 1). A double uses all 32 bits of the word. A float
/// uses only the upper 24 bits.
template <class T>
ASHLAR_HD constexpr T uniform_from_word(std::uint32_t word) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
  } else {
    return static_cast<double>(word) * 0x1p-32;
  }
}

/// Returns the uniform random number in [0, 1) at one index. The number depends only on (seed,
/// stream, index).
template <class T>
ASHLAR_HD constexpr T uniform(std::uint64_t seed, std::uint64_t stream, std::int64_t index) {
  return uniform_from_word<T>(random_word(seed, stream, static_cast<std::uint64_t>(index)));
}

}  // namespace ashlar::device
