// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Convolution by im2col and GEMM, for any window, strip by strip:
//
//   y       = weight · im2col(x) + bias
//   dweight += dy · im2col(x)ᵀ                 dx = col2im(weightᵀ · dy)
//
// A strip is a number of output rows of one image or, where images are small, of several whole ones: as many
// as make convolution_panel elements of the matrix and of its part of y together. So GEMMs are large enough
// to be fast, and memory is bounded. With channels before pixels, y's rows are the product's rows; they go
// through a copy, since those of several images do not lie side by side in y.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/im2col.hpp>

namespace ashlar::device::host {

/// Elements of the matrices of a strip, if one output row is not more. A quarter of them was 5 to 10 %
/// slower, twice as many were no faster.
inline constexpr std::int64_t convolution_panel = std::int64_t{1} << 19;

/// Pixels of y after which a strip takes no further image: more columns make no faster product, and with few
/// channels a matrix that stays in the caches is a quarter faster.
inline constexpr std::int64_t convolution_columns = 1024;

namespace detail {

/// Output rows [first, last) of some images; `pixels` of y in each plane from `pixel` on.
struct convolution_strip {
  std::int64_t image, images;
  std::int64_t first, last;
  std::int64_t pixel, pixels;
};

/// Elements for each pixel of y.
constexpr std::int64_t strip_column(convolution_extents const& e) { return e.inner() + e.outputs; }

/// Output rows of a strip of one image.
constexpr std::int64_t strip_rows(convolution_extents const& e) {
  std::int64_t const row = std::max<std::int64_t>(1, strip_column(e) * e.y_columns());
  return std::clamp<std::int64_t>(convolution_panel / row, 1,
                                  std::max<std::int64_t>(1, e.y_rows()));
}

/// Images of a strip; one if a strip has not all rows of an image.
constexpr std::int64_t strip_images(convolution_extents const& e) {
  if (strip_rows(e) < e.y_rows()) return 1;
  std::int64_t const plane = std::max<std::int64_t>(1, e.y_plane());
  std::int64_t const image = std::max<std::int64_t>(1, strip_column(e) * plane);
  return std::clamp<std::int64_t>(std::min(convolution_panel / image, convolution_columns / plane),
                                  1, std::max<std::int64_t>(1, e.x.batch));
}

/// Calls visit(strip) for one after the other.
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

/// matrix = the windows of a strip, one image beside the other.
template <class T>
void strip_im2col(T const* x, convolution_extents const& e, convolution_strip const& s, T* matrix) {
  for (std::int64_t i = 0; i < s.images; ++i)
    im2col(x + (s.image + i) * e.x.channels * e.x.plane(), e.x, e.window, s.first, s.last,
           s.images * s.pixels, matrix + i * s.pixels);
}

}  // namespace detail

/// Elements of workspace that each of the passes needs.
constexpr std::int64_t strips_workspace(convolution_extents const& e) {
  return detail::strip_column(e) * std::min(detail::strip_images(e), e.x.batch) *
         std::min(detail::strip_rows(e), e.y_rows()) * e.y_columns();
}

/// An upper bound of strips_workspace for the parts of the images, channels and outputs that a rank may have.
constexpr std::int64_t strips_workspace_bound(convolution_extents const& e) {
  std::int64_t const pixels = std::min(e.x.batch * e.y_plane(),
                                       std::max(e.y_plane(), convolution_columns));
  std::int64_t const row = detail::strip_column(e) * e.y_columns();
  return std::min(detail::strip_column(e) * pixels, std::max(row, convolution_panel));
}

/// y = weight · im2col(x) + bias; bias null: none.
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

/// dx = the gradient of x (overwritten), dweight += the gradient of the weight. dx null: not made, and
/// the weight not read.
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
