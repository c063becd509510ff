// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies rows of a large array with non-temporal stores, which bypass the caches
// (stream_store.hpp). std::memcpy uses such stores only if one call copies many MiB. A call of
// std::memcpy for each row would not use non-temporal stores. After the last row, the caller must
// call stream_fence().

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <ashlar/device/host/lanes.hpp>

namespace ashlar::device::host {

/// Copies one row of `bytes` bytes with non-temporal stores. `next` is the address of the row that
/// will be copied next. The beginning of that next row is prefetched.
inline void stream_row(unsigned char const* src, unsigned char const* next, std::int64_t bytes,
                       unsigned char* dst) {
  using block = lanes<unsigned char, 256 / ASHLAR_VECTOR_BYTES>;
  std::int64_t const ahead = std::min(bytes, stream_ahead);
  std::int64_t const head = std::min(bytes, stream_head(dst));
  std::memcpy(dst, src, static_cast<std::size_t>(head));
  std::int64_t i = head;
  for (; i + block::count <= bytes; i += block::count) {
    prefetch(i + ahead < bytes ? src + i + ahead : next + (i + ahead - bytes), block::count);
    block moved;
    moved.load(src + i);
    moved.stream(dst + i);
  }
  std::memcpy(dst + i, src + i, static_cast<std::size_t>(bytes - i));
}

/// Copies `rows` rows of `bytes` bytes each with non-temporal stores. src_pitch and dst_pitch are
/// the distances in bytes between two rows. The arrays must be disjoint. The caller must call
/// stream_fence() afterwards.
inline void stream_rows(void const* source, std::int64_t src_pitch, std::int64_t rows,
                        std::int64_t bytes, void* target, std::int64_t dst_pitch) {
  auto const* src = static_cast<unsigned char const*>(source);
  auto* dst = static_cast<unsigned char*>(target);
  for (std::int64_t r = 0; r < rows; ++r, dst += dst_pitch, src += src_pitch)
    stream_row(src, src + src_pitch, bytes, dst);
}

}  // namespace ashlar::device::host
