// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Two-dimensional convolution (in the sense of neural networks: correlation) by im2col and GEMM, image
// by image and strip by strip of output rows:
//
//   x       [batch, channels, height, width]
//   weight  [outputs, channels, extent, extent]
//   y       [batch, outputs, places(height), places(width)]
//
//   y       = weight · im2col(x) + beta y      beta = 1: y holds the bias
//   dweight += dy · im2col(x)ᵀ                 dx = col2im(weightᵀ · dy)
//
// With channels before pixels, y's rows are the product's rows: nothing is transposed. A strip is
// as many output rows as fit convolution_panel elements: enough for a good GEMM (with a quarter, those
// on images of 28 x 28 and less lose a quarter of their speed), and bounded memory.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/im2col.hpp>

namespace ashlar::device::host {

/// Elements of the matrix of a strip, if one output row is not more.
inline constexpr std::int64_t convolution_panel = std::int64_t{1} << 20;

struct convolution_extents {
  image_extents x;
  std::int64_t outputs;
  ashlar::device::window window;

  constexpr std::int64_t inner() const { return x.channels * window.extent * window.extent; }
  constexpr std::int64_t y_rows() const { return window.places(x.height); }
  constexpr std::int64_t y_columns() const { return window.places(x.width); }
  constexpr std::int64_t y_plane() const { return y_rows() * y_columns(); }
  /// Output rows of one strip, at least one.
  constexpr std::int64_t strip() const {
    std::int64_t const row = std::max<std::int64_t>(1, inner() * y_columns());
    return std::clamp<std::int64_t>(convolution_panel / row, 1,
                                    std::max<std::int64_t>(1, y_rows()));
  }
};

/// Elements of workspace that each of the passes needs.
constexpr std::int64_t convolution_workspace(convolution_extents const& e) {
  return e.inner() * e.strip() * e.y_columns();
}

namespace detail {

/// Calls visit(image, first output row, last output row, first pixel of y in a plane) per strip.
template <class Visit>
void for_each_strip(convolution_extents const& e, Visit visit) {
  for (std::int64_t n = 0; n < e.x.batch; ++n)
    for (std::int64_t first = 0; first < e.y_rows(); first += e.strip()) {
      between_blocks();
      visit(n, first, std::min(first + e.strip(), e.y_rows()), first * e.y_columns());
    }
}

}  // namespace detail

/// y = weight · x + beta y.
template <class T>
void convolution_forward(T const* x, T const* weight, convolution_extents const& e, T beta,
                         T* workspace, T* y) {
  std::int64_t const k = e.inner(), plane = e.y_plane();
  detail::for_each_strip(
      e, [&](std::int64_t n, std::int64_t first, std::int64_t last, std::int64_t pixel) {
        std::int64_t const pixels = (last - first) * e.y_columns();
        im2col(x + n * e.x.channels * e.x.plane(), e.x, e.window, first, last, workspace);
        gemm(false, false, e.outputs, pixels, k, T(1), weight, k, workspace, pixels, beta,
             y + n * e.outputs * plane + pixel, plane);
      });
}

/// dx = the gradient of x (overwritten), dweight += the gradient of the weight. dx null: not made, and
/// the weight not read.
template <class T>
void convolution_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                          T* workspace, T* dx, T* dweight) {
  std::int64_t const k = e.inner(), plane = e.y_plane();
  std::int64_t const image = e.x.channels * e.x.plane();
  if (dx != nullptr) std::fill_n(dx, e.x.batch * image, T(0));
  detail::for_each_strip(
      e, [&](std::int64_t n, std::int64_t first, std::int64_t last, std::int64_t pixel) {
        std::int64_t const pixels = (last - first) * e.y_columns();
        T const* const gradient = dy + n * e.outputs * plane + pixel;
        im2col(x + n * image, e.x, e.window, first, last, workspace);
        gemm(false, true, e.outputs, k, pixels, T(1), gradient, plane, workspace, pixels, T(1),
             dweight, k);
        if (dx == nullptr) return;
        gemm(true, false, k, pixels, e.outputs, T(1), weight, k, gradient, plane, T(0), workspace,
             pixels);
        col2im(static_cast<T const*>(workspace), e.x, e.window, first, last, dx + n * image);
      });
}

}  // namespace ashlar::device::host
