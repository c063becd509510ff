// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The extents of the arrays of a two-dimensional convolution, all row-major. `extent` is the width
// and height of the square window, and places(n) is the number of positions of the window along n
// pixels.
//
//   x       [batch, channels, height, width]
//   weight  [outputs, channels, extent, extent]
//   y       [batch, outputs, places(height), places(width)]
//
// If x has only some rows of the images, y has x.places_of_rows(window) rows.

#include <cstdint>

#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

struct convolution_extents {
  image_extents x;
  std::int64_t outputs;
  ashlar::device::window window;

  /// Returns the number of products that are summed for one element of y.
  constexpr std::int64_t inner() const { return x.channels * window.extent * window.extent; }
  constexpr std::int64_t y_rows() const { return x.places_of_rows(window); }
  constexpr std::int64_t y_columns() const { return window.places(x.width); }
  constexpr std::int64_t y_plane() const { return y_rows() * y_columns(); }
  constexpr image_extents y() const { return {x.batch, outputs, y_rows(), y_columns()}; }
};

}  // namespace ashlar::device::host
