// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Enlarges images [batch, channels, height, width] by a whole factor. Every pixel becomes a square
// of factor x factor equal pixels (nearest neighbour). The gradient of a pixel is the sum of the
// gradients of the pixels of its square.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// Computes y [batch, channels, factor · height, factor · width] from x, whose extents are `e`.
template <class T>
void upsample_forward(T const* x, image_extents const& e, std::int64_t factor, T* y) {
  std::int64_t const wide = e.width * factor;
  for (std::int64_t row = 0; row < e.batch * e.channels * e.height; ++row) {
    T const* const from = x + row * e.width;
    T* const first = y + row * factor * wide;
    for (std::int64_t c = 0; c < e.width; ++c) std::fill_n(first + c * factor, factor, from[c]);
    for (std::int64_t k = 1; k < factor; ++k) std::copy_n(first, wide, first + k * wide);
  }
}

/// Overwrites dx, whose extents are `e`, with the gradient of x.
template <class T>
void upsample_backward(T const* dy, image_extents const& e, std::int64_t factor, T* dx) {
  std::int64_t const wide = e.width * factor;
  for (std::int64_t row = 0; row < e.batch * e.channels * e.height; ++row) {
    T* const to = dx + row * e.width;
    std::fill_n(to, e.width, T(0));
    for (std::int64_t k = 0; k < factor; ++k) {
      T const* const from = dy + (row * factor + k) * wide;
      for (std::int64_t c = 0; c < e.width; ++c)
        for (std::int64_t i = 0; i < factor; ++i) to[c] += from[c * factor + i];
    }
  }
}

}  // namespace ashlar::device::host
