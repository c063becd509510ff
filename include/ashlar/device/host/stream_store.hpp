// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Stores that go around the caches. An ordinary store first reads the line it writes; where an
// array is written whole and is too large to be found in a cache later, that read is a third of a
// copy's traffic.
//
//   stream_vector(v, to)   writes one vector to memory aligned to its size
//   stream_fence()         makes them visible before later stores; once after a call's last one
//   stream_head(to)        bytes up to the next line, so that whole lines follow
//   is_streamed(...)       which calls use them
//   prefetch(...)          asks early for what such a call reads
//
// Without such instructions (see config.hpp) these are ordinary stores.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/config.hpp>

#if ASHLAR_STREAM_STORES
#include <immintrin.h>
#endif

namespace ashlar::device::host {

inline constexpr std::int64_t line_bytes = 64;

/// Bytes a call reads and writes from which its result is not worth a place in the caches: from here on
/// the copy and whoever reads the result next take less time together, on two cores that do the same and
/// share 48 MiB of cache; at a quarter of it they take more.
inline constexpr std::int64_t stream_from = std::int64_t{16} << 20;
/// The shortest row whose whole lines outweigh its ends; shorter where rows are whole lines.
inline constexpr std::int64_t stream_row_from = 1024;
inline constexpr std::int64_t stream_whole_row_from = 256;

/// How far before its use a source is asked for where the caches are gone around, in bytes: the
/// hardware's own prefetch stops at the end of each page.
inline constexpr std::int64_t stream_ahead = 512;

/// Whether a call that reads and writes `bytes`, in contiguous rows of `row_bytes`, streams.
constexpr bool is_streamed(std::int64_t bytes, std::int64_t row_bytes) {
  return ASHLAR_STREAM_STORES != 0 && bytes >= stream_from && row_bytes >= stream_row_from;
}

/// Asks for `bytes` from `from` on, whole lines; never reads them.
[[gnu::always_inline]] inline void prefetch(void const* from, std::int64_t bytes) {
  auto const* at = static_cast<char const*>(from);
  for (std::int64_t i = 0; i < bytes; i += line_bytes) __builtin_prefetch(at + i);
}

/// Bytes up to the next cache line from `to`.
inline std::int64_t stream_head(void const* to) {
  auto const address = reinterpret_cast<std::uintptr_t>(to);
  return static_cast<std::int64_t>(-address % static_cast<std::uintptr_t>(line_bytes));
}

/// Vector: trivially copyable, of ASHLAR_VECTOR_BYTES; `to` is aligned to that.
template <class Vector>
[[gnu::always_inline]] inline void stream_vector(Vector const& value, void* to) {
  static_assert(sizeof(Vector) == ASHLAR_VECTOR_BYTES);
#if ASHLAR_STREAM_STORES && ASHLAR_VECTOR_BYTES == 64
  _mm512_stream_si512(static_cast<__m512i*>(to), __builtin_bit_cast(__m512i, value));
#elif ASHLAR_STREAM_STORES && ASHLAR_VECTOR_BYTES == 32
  _mm256_stream_si256(static_cast<__m256i*>(to), __builtin_bit_cast(__m256i, value));
#elif ASHLAR_STREAM_STORES
  _mm_stream_si128(static_cast<__m128i*>(to), __builtin_bit_cast(__m128i, value));
#else
  std::memcpy(to, &value, sizeof(value));
#endif
}

/// Streaming stores before it are seen by others before what is written after it.
inline void stream_fence() {
#if ASHLAR_STREAM_STORES
  _mm_sfence();
#endif
}

}  // namespace ashlar::device::host
