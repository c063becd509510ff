// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A window that slides along a dim, of an image along its rows and along its columns: what convolution
// and pooling have in common. Place i of `places(n)` covers the coordinates
//
//   [i stride - padding, i stride - padding + extent)
//
// of n; those below 0 and from n on are padding. A window that begins beyond the last coordinate that
// fits is no place: the rest of the division by the stride is left out. `covered` is what a rank with
// some of the places reads, and so, less what it has, its halo (step/halo.hpp).

#include <ashlar/layout/split.hpp>

namespace ashlar {

struct sliding_window {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< on either side

  /// Places along an extent of n; 0 if the window does not fit once.
  constexpr std::int64_t places(std::int64_t n) const {
    std::int64_t const room = n + 2 * padding - extent;
    return room < 0 ? 0 : room / stride + 1;
  }

  /// The coordinates, of n, from the first to the last that some places in a row cover.
  constexpr interval covered(interval of_places, std::int64_t n) const {
    if (of_places.size == 0) return {};
    return intersect({of_places.begin * stride - padding, (of_places.size - 1) * stride + extent},
                     {0, n});
  }
  friend constexpr bool operator==(sliding_window const&, sliding_window const&) = default;
};

}  // namespace ashlar
