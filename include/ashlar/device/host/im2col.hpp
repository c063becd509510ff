// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Converts an image [channels, height, width] to a matrix, so that the convolution of the image is
// one matrix product: weight times this matrix. The window is the square kernel of the convolution,
// of size extent x extent.
//
//   im2col   Writes the matrix. It has a column for each pixel of the output, and a row for each
//            channel, row and column of the window. A column holds the pixels of the image that are
//            under the window when the window is at the position of the output pixel. Padding is 0.
//   col2im   Does the reverse for gradients: adds every entry of the matrix to the pixel from which
//            im2col copies it.
//
// The complete matrix can be extent² times as large as the image. So both functions work on a
// strip: the columns of the matrix that belong to the output rows [first, last). A strip has
// channels · extent² rows and (last - first) · places(width) columns, where places(width) is the
// number of window positions in a row. The rows of the strip are `pitch` elements apart, so strips
// of several images can be side by side in one matrix.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

namespace detail {

/// The range [first, last) of window positions at which one given column of the window is inside an
/// image of width n. At window position p, this column is at pixel p · stride + offset. It is
/// inside the image if this pixel is in [0, n).
struct inside {
  std::int64_t first;
  std::int64_t last;
};

constexpr inside places_inside(std::int64_t places, std::int64_t stride, std::int64_t offset,
                               std::int64_t n) {
  std::int64_t const first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  std::int64_t const last = n <= offset ? 0 : (n - offset - 1) / stride + 1;
  return {std::min(first, places), std::max(std::min(first, places), std::min(last, places))};
}

/// Calls visit(row, strip_row, y, q, offset) for each row of the im2col matrix and each output row
/// in [first, last). A row of the matrix belongs to one channel c, row i and column j of the
/// window.
///
///   row         the row of the matrix
///   strip_row   the output row, counted from `first`
///   y           the image row under row i of the window, plus c * height; -1 if it is padding
///   q           the window positions at which column j of the window is inside the image
///   offset      the image column under column j at window position 0; each position adds stride
template <class Visit>
void for_each_window_row(image_extents const& e, window const& w, std::int64_t first,
                         std::int64_t last, Visit visit) {
  std::int64_t const columns = w.places(e.width);
  std::int64_t row = 0;
  for (std::int64_t c = 0; c < e.channels; ++c)
    for (std::int64_t i = 0; i < w.extent; ++i)
      for (std::int64_t j = 0; j < w.extent; ++j, ++row) {
        std::int64_t const offset = j - w.padding;
        inside const q = places_inside(columns, w.stride, offset, e.width);
        for (std::int64_t r = first; r < last; ++r) {
          std::int64_t const y = r * w.stride - e.padding_above(w) + i;
          bool const padding = y < 0 || y >= e.height;
          visit(row, r - first, padding ? -1 : c * e.height + y, q, offset);
        }
      }
}

}  // namespace detail

/// Writes the columns of the im2col matrix that belong to the output rows [first, last) of one
/// image. The rows of the matrix are `pitch` elements apart. `e.batch` is not used.
template <class T>
void im2col(T const* image, image_extents const& e, window const& w, std::int64_t first,
            std::int64_t last, std::int64_t pitch, T* matrix) {
  std::int64_t const columns = w.places(e.width);
  detail::for_each_window_row(e, w, first, last,
                              [=](std::int64_t row, std::int64_t strip_row, std::int64_t y,
                                  detail::inside q, std::int64_t offset) {
                                T* const to = matrix + row * pitch + strip_row * columns;
                                if (y < 0) return void(std::fill_n(to, columns, T(0)));
                                T const* const from = image + y * e.width + offset;
                                std::fill(to, to + q.first, T(0));
                                if (w.stride == 1)
                                  std::copy(from + q.first, from + q.last, to + q.first);
                                else
                                  for (std::int64_t i = q.first; i < q.last; ++i)
                                    to[i] = from[i * w.stride];
                                std::fill(to + q.last, to + columns, T(0));
                              });
}

/// Adds each entry of a part of the im2col matrix to the pixel of `image` from which im2col copies
/// this entry. The part has the columns that belong to the output rows [first, last). The rows of
/// the part are `pitch` elements apart.
template <class T>
void col2im(T const* matrix, image_extents const& e, window const& w, std::int64_t first,
            std::int64_t last, std::int64_t pitch, T* image) {
  std::int64_t const columns = w.places(e.width);
  detail::for_each_window_row(e, w, first, last,
                              [=](std::int64_t row, std::int64_t strip_row, std::int64_t y,
                                  detail::inside q, std::int64_t offset) {
                                if (y < 0) return;
                                T const* const from = matrix + row * pitch + strip_row * columns;
                                T* const to = image + y * e.width + offset;
                                for (std::int64_t i = q.first; i < q.last; ++i)
                                  to[i * w.stride] += from[i];
                              });
}

}  // namespace ashlar::device::host
