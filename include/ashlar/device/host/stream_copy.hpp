// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// std::memcpy with stores around the caches, for the rows of a large copy: memcpy itself does so
// only for a single run of many MiB. The caller ends with stream_fence().

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <ashlar/device/host/lanes.hpp>

namespace ashlar::device::host {

inline void stream_copy(void const* source, std::int64_t bytes, void* target) {
  using block = lanes<unsigned char, 256 / ASHLAR_VECTOR_BYTES>;
  auto const* src = static_cast<unsigned char const*>(source);
  auto* dst = static_cast<unsigned char*>(target);
  std::int64_t const head = std::min(bytes, stream_head(dst));
  std::memcpy(dst, src, static_cast<std::size_t>(head));
  std::int64_t i = head;
  for (; i + block::count <= bytes; i += block::count) {
    prefetch_ahead(src + i, block::count);
    block moved;
    moved.load(src + i);
    moved.stream(dst + i);
  }
  std::memcpy(dst + i, src + i, static_cast<std::size_t>(bytes - i));
}

}  // namespace ashlar::device::host
