// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A square window that slides over the rows and the columns of an image: what convolution and pooling
// have in common. Place i of `places(n)` covers the coordinates
//
//   [i stride - padding, i stride - padding + extent)
//
// of an image of n rows; those below 0 and from n on are padding. A window that begins beyond the
// last coordinate that fits is no place: the rest of the division by the stride is left out.

#include <cstdint>

namespace ashlar::device {

struct window {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< on either side

  /// Places along an extent of n; 0 if the window does not fit once.
  constexpr std::int64_t places(std::int64_t n) const {
    std::int64_t const room = n + 2 * padding - extent;
    return room < 0 ? 0 : room / stride + 1;
  }
  friend constexpr bool operator==(window const&, window const&) = default;
};

/// Images [batch, channels, height, width], row-major, that a window slides over.
struct image_extents {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;

  constexpr std::int64_t plane() const { return height * width; }
};

}  // namespace ashlar::device
