// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a window that slides along one dim, such as the rows or the columns of an image, for
// convolution and pooling. In a dim of n indices, position i of the window covers the indices
//
//   [i stride - padding, i stride - padding + extent)
//
// Indices below 0 and from n on are padding. `places(n)` returns the number of positions at which
// the window fits completely into the padded range. `covered` returns the indices that a rank reads
// to compute a range of positions. The rank's halo is the part of these indices that the rank does
// not hold (step/halo.hpp).

#include <ashlar/layout/split.hpp>

namespace ashlar {

struct sliding_window {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< the number of padding elements on each side

  /// Returns what is wrong with the window, or null.
  constexpr char const* fault() const {
    if (extent < 1 || stride < 1) return "the window and its stride must be 1 or more.";
    if (padding < 0 || padding >= extent)
      return "the padding must be 0 or more and less than the window, so that every window sees at "
             "least one element.";
    return nullptr;
  }

  /// Returns the number of positions of the window in a dim of n indices. The number is 0 if the
  /// window does not fit.
  constexpr std::int64_t places(std::int64_t n) const {
    std::int64_t const room = n + 2 * padding - extent;
    return room < 0 ? 0 : room / stride + 1;
  }

  /// Returns the range of the dim's n indices that a range of adjacent window positions covers,
  /// without padding.
  constexpr interval covered(interval of_places, std::int64_t n) const {
    if (of_places.size == 0) return {};
    return intersect({of_places.begin * stride - padding, (of_places.size - 1) * stride + extent},
                     {0, n});
  }
  friend constexpr bool operator==(sliding_window const&, sliding_window const&) = default;
};

}  // namespace ashlar
