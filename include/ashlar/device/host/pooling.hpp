// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Pooling of images, plane by plane. A plane is one channel of one image. A square window, extent
// pixels wide, moves over the plane. y has one element for each position of the window:
//
//   maximum   The largest pixel under the window. If several pixels are the largest, the first one
//             in row-major order is chosen. Only this pixel gets the gradient. `chosen` stores the
//             index of this pixel in the plane for the backward pass.
//   average   The sum of the pixels under the window / extent². Padding counts as zero, so that
//             y is linear in x.
//
// The padding must be less than the extent, so that every window contains a pixel. The maximum
// ignores padding. The maximum is NaN if a pixel under the window is NaN, so that the NaN reaches
// the loss and is noticed.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/max_pool_2x2.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

namespace detail {

/// Calls visit(plane, at, r0, r1, c0, c1) for each position of the window in each plane (one
/// channel of one image).
///
///   at       the index of the window's result in y
///   r0, r1   the window covers the rows [r0, r1) of the plane
///   c0, c1   the window covers the columns [c0, c1) of the plane
template <class Visit>
void for_each_window(image_extents const& e, window const& w, Visit visit) {
  std::int64_t const rows = e.places_of_rows(w), columns = w.places(e.width);
  for (std::int64_t p = 0; p < e.batch * e.channels; ++p)
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t const top = r * w.stride - e.padding_above(w);
      std::int64_t const r0 = std::max<std::int64_t>(top, 0);
      std::int64_t const r1 = std::min(top + w.extent, e.height);
      for (std::int64_t c = 0; c < columns; ++c) {
        std::int64_t const left = c * w.stride - w.padding;
        visit(p, p * rows * columns + r * columns + c, r0, r1, std::max<std::int64_t>(left, 0),
              std::min(left + w.extent, e.width));
      }
    }
}

}  // namespace detail

/// Computes y, the maximum of each window of x. For each element of y, `chosen` receives the index
/// of the maximum within the plane (one channel of one image).
template <class T>
void max_pool_forward(T const* x, image_extents const& e, window const& w, T* y,
                      std::int32_t* chosen) {
  if (detail::is_2x2(w)) return detail::max_pool_2x2_forward(x, e, y, chosen);
  detail::for_each_window(e, w,
                          [=](std::int64_t p, std::int64_t at, std::int64_t r0, std::int64_t r1,
                              std::int64_t c0, std::int64_t c1) {
                            T const* const plane = x + p * e.plane();
                            std::int64_t best = r0 * e.width + c0;
                            for (std::int64_t r = r0; r < r1; ++r)
                              for (std::int64_t i = r * e.width + c0; i < r * e.width + c1; ++i)
                                if (plane[i] > plane[best] || plane[i] != plane[i]) best = i;
                            y[at] = plane[best];
                            chosen[at] = static_cast<std::int32_t>(best);
                          });
}

/// Overwrites dx with the gradient of x. Each element of dy is added to the pixel whose index the
/// forward pass stored in `chosen`.
template <class T>
void max_pool_backward(T const* dy, std::int32_t const* chosen, image_extents const& e,
                       window const& w, T* dx) {
  if (detail::is_2x2(w)) return detail::max_pool_2x2_backward(dy, chosen, e, dx);
  std::int64_t const planes = e.batch * e.channels;
  std::int64_t const places = e.places_of_rows(w) * w.places(e.width);
  std::fill_n(dx, planes * e.plane(), T(0));
  for (std::int64_t p = 0; p < planes; ++p)
    for (std::int64_t i = p * places; i < (p + 1) * places; ++i)
      dx[p * e.plane() + chosen[i]] += dy[i];
}

/// Computes y [batch, channels, places(height), places(width)] from x [batch, channels, height,
/// width]: each element of y is the average of one window of x. places(n) is the number of window
/// positions along n pixels.
template <class T>
void average_pool_forward(T const* x, image_extents const& e, window const& w, T* y) {
  T const scale = T(1) / static_cast<T>(w.extent * w.extent);
  detail::for_each_window(e, w,
                          [=](std::int64_t p, std::int64_t at, std::int64_t r0, std::int64_t r1,
                              std::int64_t c0, std::int64_t c1) {
                            T sum = 0;
                            for (std::int64_t r = r0; r < r1; ++r)
                              for (std::int64_t c = c0; c < c1; ++c)
                                sum += x[p * e.plane() + r * e.width + c];
                            y[at] = sum * scale;
                          });
}

/// Overwrites dx with the gradient of x. Each element of dy contributes equally to all pixels of
/// its window.
template <class T>
void average_pool_backward(T const* dy, image_extents const& e, window const& w, T* dx) {
  T const scale = T(1) / static_cast<T>(w.extent * w.extent);
  std::fill_n(dx, e.batch * e.channels * e.plane(), T(0));
  detail::for_each_window(e, w,
                          [=](std::int64_t p, std::int64_t at, std::int64_t r0, std::int64_t r1,
                              std::int64_t c0, std::int64_t c1) {
                            T const share = dy[at] * scale;
                            for (std::int64_t r = r0; r < r1; ++r)
                              for (std::int64_t c = c0; c < c1; ++c)
                                dx[p * e.plane() + r * e.width + c] += share;
                          });
}

}  // namespace ashlar::device::host
