// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Non-temporal stores, which bypass the caches. An ordinary store first reads the cache line that
// it writes. If an array is written completely and is too large to be found in a cache later, this
// read is wasted, and it is a third of a copy's memory traffic.
//
//   stream_vector(v, to)   writes one vector to memory that is aligned to its size
//   stream_fence()         orders these stores before later ones; called once, after the last one
//   stream_head(to)        returns the bytes up to the next cache line
//   is_streamed(...)       decides which calls use such stores
//   prefetch(...)          prefetches the data that such a call reads
//
// On machines without such instructions (see config.hpp), these functions use ordinary stores.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/config.hpp>

namespace ashlar::device::host {

inline constexpr std::int64_t line_bytes = 64;

/// Calls that read and write at least this many bytes use non-temporal stores. Measured on two
/// cores that do the same work and share 48 MiB of cache: from this size on, the copy and the code
/// that reads its result take less time together than with ordinary stores. At a quarter of this
/// size they take more.
inline constexpr std::int64_t stream_from = std::int64_t{16} << 20;
/// The shortest row, in bytes, for which non-temporal stores are used. In shorter rows, the partial
/// cache lines at both ends cost too much.
inline constexpr std::int64_t stream_row_from = 1024;
/// The same for rows that all consist of complete cache lines.
inline constexpr std::int64_t stream_whole_row_from = 256;

/// How far ahead of its use a source is prefetched, in bytes. The hardware's own prefetch stops at
/// the end of each page.
inline constexpr std::int64_t stream_ahead = 512;

/// Returns whether a call that reads and writes `bytes` bytes, in contiguous rows of `row_bytes`
/// bytes, uses non-temporal stores.
constexpr bool is_streamed(std::int64_t bytes, std::int64_t row_bytes) {
  return ASHLAR_STREAM_STORES != 0 && bytes >= stream_from && row_bytes >= stream_row_from;
}

/// Prefetches `bytes` bytes from address `from` on, in complete cache lines. The address may be
/// invalid.
[[gnu::always_inline]] inline void prefetch(void const* from, std::int64_t bytes) {
  auto const* at = static_cast<char const*>(from);
  for (std::int64_t i = 0; i < bytes; i += line_bytes) __builtin_prefetch(at + i);
}

/// Returns the number of bytes from `to` to the next cache line, 0 if `to` is at the start of one.
inline std::int64_t stream_head(void const* to) {
  auto const address = reinterpret_cast<std::uintptr_t>(to);
  return static_cast<std::int64_t>(-address % static_cast<std::uintptr_t>(line_bytes));
}

/// Writes a vector past the caches. Vector is trivially copyable and has ASHLAR_VECTOR_BYTES bytes,
/// to which `to` must be aligned.
template <class Vector>
[[gnu::always_inline]] inline void stream_vector(Vector const& value, void* to) {
  static_assert(sizeof(Vector) == ASHLAR_VECTOR_BYTES);
#if ASHLAR_STREAM_STORES
  using words [[gnu::vector_size(ASHLAR_VECTOR_BYTES)]] = long long;
  auto const stored = __builtin_bit_cast(words, value);
  auto* const target = static_cast<words*>(to);
  // <immintrin.h> has these stores too, but takes longer to read than all of this room.
#if defined(__clang__)
  __builtin_nontemporal_store(stored, target);
#elif ASHLAR_VECTOR_BYTES == 64
  __builtin_ia32_movntdq512(target, stored);
#elif ASHLAR_VECTOR_BYTES == 32
  __builtin_ia32_movntdq256(target, stored);
#else
  __builtin_ia32_movntdq(target, stored);
#endif
#else
  std::memcpy(to, &value, sizeof(value));
#endif
}

/// Makes earlier streaming stores visible to other threads before anything that is written later.
inline void stream_fence() {
#if ASHLAR_STREAM_STORES
  __builtin_ia32_sfence();
#endif
}

}  // namespace ashlar::device::host
