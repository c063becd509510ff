// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sorts tokens by the table row that each looks up. Tokens of the same row stay in their order, so
// that the gradient of a row is added up in a fixed order. The method is a stable radix sort with 8
// bits per pass and as few passes as `rows` needs. A chunk is a group of 1024 tokens, which one
// block processes.
//
//   key of a token    ids[token] - first_row, or `rows` if this rank does not have that table row,
//                     so that such tokens come last
//   digit             the 8 bits of the key by which a pass sorts
//   count             computes counts[chunk][digit], with one block for each chunk
//   scan              computes where the tokens of each digit and chunk begin, in one block
//   place             moves keys and tokens to their new positions
//
// There are no atomics. Thread d of a block counts and moves the tokens with digit d. To find these
// tokens, each of the 256 threads compares all 1024 digits of the chunk with its own digit. All
// threads of a warp read the same digits at the same time, so a pass takes only a few microseconds.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>

namespace ashlar::cuda::detail {

inline constexpr int sort_digits = 256;
inline constexpr int sort_chunk = 1024;

/// Returns the number of passes of the radix sort for keys in [0, rows].
constexpr int sort_passes(std::int64_t rows) {
  int passes = 1;
  for (std::int64_t rest = rows / sort_digits; rest > 0; rest /= sort_digits) ++passes;
  return passes;
}

constexpr std::int64_t sort_chunks(std::int64_t tokens) {
  return (tokens + sort_chunk - 1) / sort_chunk;
}

/// Returns the number of workspace elements (std::int32_t) that sort_tokens needs: for the sorted
/// keys and tokens, and for intermediate results.
constexpr std::int64_t token_sort_workspace(std::int64_t rows, std::int64_t tokens) {
  return (sort_passes(rows) == 1 ? 2 : 4) * tokens + sort_chunks(tokens) * sort_digits;
}

/// The input of one pass of the radix sort. The first pass reads unsorted ids. Later passes read
/// the sorted keys and tokens of the pass before.
struct sort_source {
  std::int32_t const* keys;
  std::int32_t const* tokens;  // null in the first pass: token i is i, and keys are ids
  std::int64_t first_row, rows, count;

  ASHLAR_HD std::int32_t key(std::int64_t i) const {
    if (tokens != nullptr) return keys[i];
    std::int64_t const row = keys[i] - first_row;
    return static_cast<std::int32_t>(row >= 0 && row < rows ? row : rows);
  }
  ASHLAR_HD std::int32_t token(std::int64_t i) const {
    return tokens != nullptr ? tokens[i] : static_cast<std::int32_t>(i);
  }
};

/// The base of the two kernels of a pass that read tokens. A block stores the digits of its chunk
/// (1024 tokens) in shared memory. If the chunk has fewer tokens, the remaining digits are -1.
struct sort_pass {
  static constexpr int launch_threads = sort_digits;
  sort_source from;
  int shift;
  std::int32_t* counts;

  ASHLAR_HD std::int32_t digit(std::int32_t key) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(key) >> shift & (sort_digits - 1));
  }
  /// Calls f(i) in increasing order of i for each token i of the chunk whose digit is `wanted`.
  template <class F>
  static ASHLAR_HD void for_each_of(std::int32_t wanted, std::int32_t const* digits, F const& f) {
    for (int i = 0; i < sort_chunk; i += 4) {
      auto const four = load<4>(digits + i);
      for (int k = 0; k < 4; ++k) {
        if (four.at[k] == wanted) f(i + k);
      }
    }
  }
};

struct count_digits : sort_pass {
  static constexpr std::int64_t shared_bytes = sort_chunk * sizeof(std::int32_t);

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const digits = reinterpret_cast<std::int32_t*>(block.shared());
    std::int64_t const first = block.index() * sort_chunk;
    block.each([&](int t) {
      for (int i = t; i < sort_chunk; i += sort_digits)
        digits[i] = first + i < from.count ? digit(from.key(first + i)) : -1;
    });
    block.each([&](int t) {
      std::int32_t count = 0;
      for_each_of(t, digits, [&](int) { ++count; });
      counts[block.index() * sort_digits + t] = count;
    });
  }
};

/// Replaces the count counts[chunk][digit] by a position in the sorted array. This is the position
/// at which the first token with this digit in this chunk is to be placed.
struct scan_digits {
  static constexpr int launch_threads = sort_digits;
  static constexpr std::int64_t shared_bytes = sort_digits * sizeof(std::int32_t);
  std::int64_t chunks;
  std::int32_t* counts;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const totals = reinterpret_cast<std::int32_t*>(block.shared());
    block.each([&](int t) {
      std::int32_t total = 0;
      for (std::int64_t c = 0; c < chunks; ++c) total += counts[c * sort_digits + t];
      totals[t] = total;
    });
    block.each([&](int t) {
      std::int32_t place = 0;
      for (int digit = 0; digit < t; ++digit) place += totals[digit];
      for (std::int64_t c = 0; c < chunks; ++c) {
        std::int32_t const count = counts[c * sort_digits + t];
        counts[c * sort_digits + t] = place;
        place += count;
      }
    });
  }
};

struct place_tokens : sort_pass {
  static constexpr std::int64_t shared_bytes = 3 * sort_chunk * sizeof(std::int32_t);
  std::int32_t* keys;
  std::int32_t* tokens;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const digits = reinterpret_cast<std::int32_t*>(block.shared());
    std::int32_t* const chunk_keys = digits + sort_chunk;
    std::int32_t* const chunk_tokens = chunk_keys + sort_chunk;
    std::int64_t const first = block.index() * sort_chunk;
    block.each([&](int t) {
      for (int i = t; i < sort_chunk; i += sort_digits) {
        bool const is_token = first + i < from.count;
        std::int32_t const key = is_token ? from.key(first + i) : 0;
        digits[i] = is_token ? digit(key) : -1;
        chunk_keys[i] = key;
        chunk_tokens[i] = is_token ? from.token(first + i) : 0;
      }
    });
    block.each([&](int t) {
      std::int32_t at = counts[block.index() * sort_digits + t];
      for_each_of(t, digits, [&](int i) {
        keys[at] = chunk_keys[i];
        tokens[at] = chunk_tokens[i];
        ++at;
      });
    });
  }
};

struct sorted_tokens {
  std::int32_t const* keys;
  std::int32_t const* tokens;
};

/// Sorts `count` tokens by their table row, which is ids[token] - first_row. Tokens whose table row
/// is not in [0, rows) come last. The returned arrays point into the workspace.
template <class Launcher>
sorted_tokens sort_tokens(Launcher const& launch, char const* name, std::int32_t const* ids,
                          std::int64_t count, std::int64_t first_row, std::int64_t rows,
                          std::int32_t* workspace) {
  int const passes = sort_passes(rows);
  std::int64_t const chunks = sort_chunks(count);
  std::int32_t* const counts = workspace + (passes == 1 ? 2 : 4) * count;
  sort_source from{ids, nullptr, first_row, rows, count};
  for (int pass = 0; pass < passes; ++pass) {
    std::int32_t* const keys = workspace + pass % 2 * 2 * count;
    sort_pass const now{from, 8 * pass, counts};
    launch.blocks(name, count_digits{now}, chunks, sort_digits, count_digits::shared_bytes);
    launch.blocks(name, scan_digits{chunks, counts}, 1, sort_digits, scan_digits::shared_bytes);
    launch.blocks(name, place_tokens{now, keys, keys + count}, chunks, sort_digits,
                  place_tokens::shared_bytes);
    from.keys = keys;
    from.tokens = keys + count;
  }
  return {from.keys, from.tokens};
}

}  // namespace ashlar::cuda::detail
