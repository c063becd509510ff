// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The block sizes that memory pools hand out. A free block serves every request of its size class,
// so that shapes that differ a little share blocks. `least` is the smallest block size.
//
//   up to `least`   `least`
//   above           rounded up to a multiple of 1/8 of the power of two at or below the request:
//                   the padding is at most 1/8 of the request

#include <bit>
#include <cstddef>

namespace ashlar {

/// Returns the size class of `bytes`, a multiple of least / 8. `least` must be a power of two of at
/// least 8.
constexpr std::size_t size_class(std::size_t bytes, std::size_t least = 512) {
  if (bytes <= least) return least;
  std::size_t const grain = std::bit_floor(bytes) / 8;
  return (bytes + grain - 1) / grain * grain;
}

static_assert(size_class(0) == 512 && size_class(512) == 512 && size_class(513) == 576);
static_assert(size_class(1024) == 1024 && size_class(1025) == 1152 && size_class(2047) == 2048);

}  // namespace ashlar
