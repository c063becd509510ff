// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Non-temporal stores, which bypass the caches. An ordinary store first reads the cache line to
// which it writes. This read is wasted if an array is written completely and is too large to stay
// in a cache until its next use. The read makes up a third of the memory traffic of a copy.
//
//   stream_vector(v, to)   writes one vector to memory that is aligned to the size of a vector
//   stream_fence()         orders non-temporal stores before all later stores; it is called once,
//                          after the last non-temporal store
//   stream_head(to)        returns the number of bytes up to the next cache line
//   is_streamed(...)       decides whether a copy or reduction uses non-temporal stores
//   prefetch(...)          prefetches the data that a copy or reduction reads
//
// On machines without non-temporal stores (see config.hpp), stream_vector uses ordinary stores.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/config.hpp>

namespace ashlar::device::host {

inline constexpr std::int64_t line_bytes = 64;

/// A copy or reduction uses non-temporal stores only if it reads and writes at least this many
/// bytes together. The size was measured on two cores that do the same work and share 48 MiB of
/// cache. The measured time includes the code that then reads the result. From this size on,
/// non-temporal stores are faster than ordinary ones. At a quarter of this size, non-temporal
/// stores are slower.
inline constexpr std::int64_t stream_from = std::int64_t{16} << 20;
/// The shortest row, in bytes, for which non-temporal stores are used. In shorter rows, the partial
/// cache lines at both ends, which need ordinary stores, cost too much.
inline constexpr std::int64_t stream_row_from = 1024;
/// The shortest row, in bytes, for which non-temporal stores are used if all rows consist of
/// complete cache lines. Other rows must be longer (stream_row_from).
inline constexpr std::int64_t stream_whole_row_from = 256;

/// The distance in bytes between the position that a loop reads and the position that it
/// prefetches. Loops prefetch, because the hardware's own prefetcher stops at the end of each page.
inline constexpr std::int64_t stream_ahead = 512;

/// Returns whether a copy or reduction uses non-temporal stores. `bytes` is the number of bytes
/// that the copy or reduction reads and writes together, and `row_bytes` the number of bytes of one
/// contiguous row.
constexpr bool is_streamed(std::int64_t bytes, std::int64_t row_bytes) {
  return ASHLAR_STREAM_STORES != 0 && bytes >= stream_from && row_bytes >= stream_row_from;
}

/// Prefetches the cache lines of the `bytes` bytes that start at address `from`. The address may be
/// invalid, because a prefetch never faults.
[[gnu::always_inline]] inline void prefetch(void const* from, std::int64_t bytes) {
  auto const* at = static_cast<char const*>(from);
  for (std::int64_t i = 0; i < bytes; i += line_bytes) __builtin_prefetch(at + i);
}

/// Returns the number of bytes from `to` to the next cache line, or 0 if `to` is the start of a
/// cache line.
inline std::int64_t stream_head(void const* to) {
  auto const address = reinterpret_cast<std::uintptr_t>(to);
  return static_cast<std::int64_t>(-address % static_cast<std::uintptr_t>(line_bytes));
}

/// Writes a vector to `to` with a non-temporal store. Vector must be trivially copyable and have
/// ASHLAR_VECTOR_BYTES bytes, and `to` must be aligned to this size.
template <class Vector>
[[gnu::always_inline]] inline void stream_vector(Vector const& value, void* to) {
  static_assert(sizeof(Vector) == ASHLAR_VECTOR_BYTES);
#if ASHLAR_STREAM_STORES
  using words [[gnu::vector_size(ASHLAR_VECTOR_BYTES)]] = long long;
  auto const stored = __builtin_bit_cast(words, value);
  // <immintrin.h> declares these stores too, but compiling <immintrin.h> takes longer than
  // compiling all kernels of this folder. GCC's built-in functions may write to any type of object.
#if defined(__clang__)
  using any_words [[gnu::may_alias]] = words;  // The elements at `to` have another type.
  __builtin_nontemporal_store(stored, static_cast<any_words*>(to));
#elif ASHLAR_VECTOR_BYTES == 64
  __builtin_ia32_movntdq512(static_cast<words*>(to), stored);
#elif ASHLAR_VECTOR_BYTES == 32
  __builtin_ia32_movntdq256(static_cast<words*>(to), stored);
#else
  __builtin_ia32_movntdq(static_cast<words*>(to), stored);
#endif
#else
  std::memcpy(to, &value, sizeof(value));
#endif
}

/// Ensures that the earlier non-temporal stores of this thread become visible to other threads
/// before the later stores of this thread.
inline void stream_fence() {
#if ASHLAR_STREAM_STORES
  __builtin_ia32_sfence();
#endif
}

}  // namespace ashlar::device::host
