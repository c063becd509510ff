// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Random numbers for the elements of a tensor with the consecutive global indices [first, first +
// count). These functions give the same values as calls of uniform() and normal() for each index,
// but are faster.
//
//   for_each_word_run  passes random words to a function (dropout makes its mask from them)
//   fill_uniform       writes uniform numbers in [low, high)
//   fill_normal        writes normal numbers with a given mean and standard deviation
//
// For bfloat16, values are computed in float and rounded at the end. A shard with several dims may
// consist of several runs of consecutive global indices. In this case, the caller must call these
// functions once for each run.

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/normal.hpp>
#include <ashlar/device/philox.hpp>
#include <ashlar/device/uniform_range.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::device::host {

/// The number of random words that are generated at a time. These are 64 blocks of the Philox
/// generator. The words take 1 KiB, which fits into the first-level cache.
inline constexpr std::int64_t words_per_run = 256;

/// Writes words_per_run consecutive random words. The first one belongs to index 4 * block, because
/// a block of the Philox generator has 4 words.
inline void fill_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t block,
                       std::uint32_t* ASHLAR_RESTRICT words) {
  ASHLAR_VECTORIZE
  for (std::int64_t b = 0; b < words_per_run / 4; ++b) {
    philox_block const value = random_block(seed, stream, block + static_cast<std::uint64_t>(b));
    words[4 * b] = value.word[0];
    words[4 * b + 1] = value.word[1];
    words[4 * b + 2] = value.word[2];
    words[4 * b + 3] = value.word[3];
  }
}

/// Generates the random words of the indices [first, first + count). Calls visit(words, offset, n)
/// for consecutive pieces of at most words_per_run words. words[i] belongs to index first + offset
/// + i, for 0 <= i < n.
template <class Visit>
void for_each_word_run(std::uint64_t seed, std::uint64_t stream, std::int64_t first,
                       std::int64_t count, Visit visit) {
  alignas(64) std::uint32_t words[words_per_run];
  std::int64_t done = 0;
  while (done < count) {
    std::int64_t const index = first + done;
    std::int64_t const skip = index % 4;
    fill_words(seed, stream, static_cast<std::uint64_t>(index / 4), words);
    std::int64_t const n = std::min(words_per_run - skip, count - done);
    visit(static_cast<std::uint32_t const*>(words + skip), done, n);
    done += n;
  }
}

/// Fills `out` with `count` uniform random numbers in [low, high): out[i] = low + (high - low) *
/// uniform(seed, stream, first + i), but at most the largest T below `high` (uniform_range.hpp).
template <class T>
void fill_uniform(std::uint64_t seed, std::uint64_t stream, std::int64_t first, std::int64_t count,
                  accumulation_t<T> low, accumulation_t<T> high, T* out) {
  for_each_word_run(seed, stream, first, count,
                    [range = uniform_range<T>(low, high),
                     out](std::uint32_t const* words, std::int64_t offset, std::int64_t n) {
                      T* const target = out + offset;
                      ASHLAR_VECTORIZE
                      for (std::int64_t i = 0; i < n; ++i) target[i] = range(words[i]);
                    });
}

/// Fills `out` with `count` normal random numbers: out[i] = mean + deviation * normal(seed, stream,
/// first + i).
template <class T>
void fill_normal(std::uint64_t seed, std::uint64_t stream, std::int64_t first, std::int64_t count,
                 accumulation_t<T> mean, accumulation_t<T> deviation, T* out) {
  using A = accumulation_t<T>;
  alignas(64) std::uint32_t words[words_per_run];
  alignas(64) T values[words_per_run];
  std::int64_t done = 0;
  while (done < count) {
    std::int64_t const index = first + done;
    std::int64_t const skip = index % 4;
    fill_words(seed, stream, static_cast<std::uint64_t>(index / 4), words);
    ASHLAR_VECTORIZE
    for (std::int64_t pair = 0; pair < words_per_run / 2; ++pair) {
      normal_pair const z = normals_from_words(words[2 * pair], words[2 * pair + 1]);
      values[2 * pair] = static_cast<T>(mean + deviation * static_cast<A>(z.first));
      values[2 * pair + 1] = static_cast<T>(mean + deviation * static_cast<A>(z.second));
    }
    std::int64_t const n = std::min(words_per_run - skip, count - done);
    std::copy_n(values + skip, n, out + done);
    done += n;
  }
}

}  // namespace ashlar::device::host
