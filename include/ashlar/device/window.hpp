// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The square window of convolution and pooling, which slides over the rows and columns of images,
// and the extents of these images.
//
// A rank may have only some rows of the images (layout/halo_layout.hpp). Then these rows have less
// padding above and below than whole images have, or none. Position i of the window covers the rows
// [i stride - padding_above, i stride - padding_above + extent) of the rank.

#include <cstdint>

#include <ashlar/layout/sliding_window.hpp>

namespace ashlar::device {

using window = sliding_window;

/// The extents of images [batch, channels, height, width], row-major, over which a window slides.
struct image_extents {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  /// The numbers of rows by which the padding above and below is smaller than window::padding. If
  /// missing_below is more than window::padding, no window covers the last rows.
  std::int64_t missing_above = 0, missing_below = 0;

  /// Returns the number of positions of a window from the top to the bottom.
  constexpr std::int64_t places_of_rows(window const& w) const {
    std::int64_t const room = height + 2 * w.padding - missing_above - missing_below - w.extent;
    return room < 0 ? 0 : room / w.stride + 1;
  }
  constexpr std::int64_t padding_above(window const& w) const { return w.padding - missing_above; }
  constexpr std::int64_t plane() const { return height * width; }
};

}  // namespace ashlar::device
