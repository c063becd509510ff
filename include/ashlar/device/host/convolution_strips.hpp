// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Convolution as a matrix product, for any window. im2col.hpp writes the matrix and explains it:
//
//   y       = weight · im2col(x) + bias
//   dweight += dy · im2col(x)ᵀ                 dx = col2im(weightᵀ · dy)
//
// The complete im2col matrix would be large, so the work is divided into strips. A strip consists
// of some output rows of one image or, if images are small, of several complete images. The im2col
// matrix of a strip and the product of a strip together have at most convolution_panel elements. A
// strip of several images has at most convolution_columns output pixels. Within these limits a
// strip is as large as possible, so that the GEMMs are fast. The product of a strip has one row for
// each output channel. The pixels of such a row are copied to y, image by image.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/im2col.hpp>

namespace ashlar::device::host {

/// The largest number of elements that the im2col matrix and the product of a strip have together.
/// A strip is a part of a convolution that is computed by one GEMM. Only a strip of a single output
/// row may exceed this limit. In measurements, convolutions with a quarter of this limit were 5 to
/// 10 % slower, and convolutions with twice this limit were no faster.
inline constexpr std::int64_t convolution_panel = std::int64_t{1} << 19;

/// The largest number of output pixels in a strip of several images. A strip is a part of a
/// convolution that is computed by one GEMM. Each output pixel is a column of the matrices of the
/// GEMM. More columns do not make the GEMM faster. With few channels, this limit makes the matrices
/// fit into the caches, and convolutions are a quarter faster than without the limit.
inline constexpr std::int64_t convolution_columns = 1024;

namespace detail {

/// A strip has the output rows [first, last) of the images [image, image + images). In each plane
/// [height, width] of y, these rows are the pixels [pixel, pixel + pixels).
struct convolution_strip {
  std::int64_t image, images;
  std::int64_t first, last;
  std::int64_t pixel, pixels;
};

/// Returns the number of elements that the im2col matrix and the product have together for each
/// output pixel.
constexpr std::int64_t strip_column(convolution_extents const& e) { return e.inner() + e.outputs; }

/// Returns the number of output rows in a strip, as many as convolution_panel permits.
constexpr std::int64_t strip_rows(convolution_extents const& e) {
  std::int64_t const row = std::max<std::int64_t>(1, strip_column(e) * e.y_columns());
  return std::clamp<std::int64_t>(convolution_panel / row, 1,
                                  std::max<std::int64_t>(1, e.y_rows()));
}

/// Returns the number of images in a strip. The number is 1 if a complete image does not fit into a
/// strip.
constexpr std::int64_t strip_images(convolution_extents const& e) {
  if (strip_rows(e) < e.y_rows()) return 1;
  std::int64_t const plane = std::max<std::int64_t>(1, e.y_plane());
  std::int64_t const image = std::max<std::int64_t>(1, strip_column(e) * plane);
  return std::clamp<std::int64_t>(std::min(convolution_panel / image, convolution_columns / plane),
                                  1, std::max<std::int64_t>(1, e.x.batch));
}

/// Calls visit(strip) for each strip, in order. Before each strip, calls between_blocks(), so that
/// transfers progress.
template <class Visit>
void for_each_strip(convolution_extents const& e, Visit visit) {
  std::int64_t const images = strip_images(e), rows = strip_rows(e);
  for (std::int64_t n = 0; n < e.x.batch; n += images)
    for (std::int64_t first = 0; first < e.y_rows(); first += rows) {
      between_blocks();
      std::int64_t const last = std::min(first + rows, e.y_rows());
      visit(convolution_strip{n, std::min(images, e.x.batch - n), first, last,
                              first * e.y_columns(), (last - first) * e.y_columns()});
    }
}

/// Writes the im2col matrix of a strip. In this matrix, the images of the strip are side by side:
/// image i of the strip has the columns [i * pixels, (i + 1) * pixels).
template <class T>
void strip_im2col(T const* x, convolution_extents const& e, convolution_strip const& s, T* matrix) {
  for (std::int64_t i = 0; i < s.images; ++i)
    im2col(x + (s.image + i) * e.x.channels * e.x.plane(), e.x, e.window, s.first, s.last,
           s.images * s.pixels, matrix + i * s.pixels);
}

}  // namespace detail

/// Returns the number of elements of the workspace that strips_forward and strips_backward need.
constexpr std::int64_t strips_workspace(convolution_extents const& e) {
  return detail::strip_column(e) * std::min(detail::strip_images(e), e.x.batch) *
         std::min(detail::strip_rows(e), e.y_rows()) * e.y_columns();
}

/// Returns an upper bound of strips_workspace. `e` describes the complete convolution. The bound
/// holds for any part of the images, channels and outputs that a rank may have.
constexpr std::int64_t strips_workspace_bound(convolution_extents const& e) {
  std::int64_t const pixels = std::min(e.x.batch * e.y_plane(),
                                       std::max(e.y_plane(), convolution_columns));
  std::int64_t const row = detail::strip_column(e) * e.y_columns();
  return std::min(detail::strip_column(e) * pixels, std::max(row, convolution_panel));
}

/// Computes y = weight · im2col(x) + bias. bias may be null. The workspace has strips_workspace(e)
/// elements.
template <class T>
void strips_forward(T const* x, T const* weight, T const* bias, convolution_extents const& e,
                    T* workspace, T* y) {
  std::int64_t const k = e.inner(), plane = e.y_plane();
  detail::for_each_strip(e, [&](detail::convolution_strip const& s) {
    std::int64_t const columns = s.images * s.pixels;
    T* const product = workspace + k * columns;
    detail::strip_im2col(x, e, s, workspace);
    gemm(false, false, e.outputs, columns, k, T(1), weight, k, workspace, columns, T(0), product,
         columns);
    for (std::int64_t i = 0; i < s.images; ++i)
      for (std::int64_t o = 0; o < e.outputs; ++o) {
        T const* const from = product + o * columns + i * s.pixels;
        T const added = bias == nullptr ? T(0) : bias[o];
        std::transform(from, from + s.pixels, y + ((s.image + i) * e.outputs + o) * plane + s.pixel,
                       [added](T value) { return value + added; });
      }
  });
}

/// Overwrites dx with the gradient of x and adds the gradient of the weight to dweight. If dx is
/// null, only dweight is computed, and `weight` is not read. The workspace has strips_workspace(e)
/// elements.
template <class T>
void strips_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                     T* workspace, T* dx, T* dweight) {
  std::int64_t const k = e.inner(), plane = e.y_plane();
  std::int64_t const image = e.x.channels * e.x.plane();
  if (dx != nullptr) std::fill_n(dx, e.x.batch * image, T(0));
  detail::for_each_strip(e, [&](detail::convolution_strip const& s) {
    std::int64_t const columns = s.images * s.pixels;
    T* const gradient = workspace + k * columns;
    for (std::int64_t i = 0; i < s.images; ++i)
      for (std::int64_t o = 0; o < e.outputs; ++o)
        std::copy_n(dy + ((s.image + i) * e.outputs + o) * plane + s.pixel, s.pixels,
                    gradient + o * columns + i * s.pixels);
    detail::strip_im2col(x, e, s, workspace);
    gemm(false, true, e.outputs, k, columns, T(1), gradient, columns, workspace, columns, T(1),
         dweight, k);
    if (dx == nullptr) return;
    gemm(true, false, k, columns, e.outputs, T(1), weight, k, gradient, columns, T(0), workspace,
         columns);
    for (std::int64_t i = 0; i < s.images; ++i)
      col2im(workspace + i * s.pixels, e.x, e.window, s.first, s.last, columns,
             dx + (s.image + i) * image);
  });
}

}  // namespace ashlar::device::host
