// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The square window of convolution and pooling, which slides over the rows and columns of images,
// and the extents of these images.

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

  constexpr std::int64_t plane() const { return height * width; }
};

}  // namespace ashlar::device
