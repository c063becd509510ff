// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Convolution with 3 x 3 windows and stride 1 by Winograd's method (winograd_transform.hpp). y is
// divided into tiles of 2 x 2 pixels, which are processed in groups. For each group:
//
//   lines    The pixels of the group's images are copied with channels last. So tiles are
//            transformed in loops over channels, which are as fast for small images as for large.
//   panels   The tiles are transformed into 16 matrices [tiles, channels], one for each of the 16
//            numbers of a transformed tile.
//   GEMM     There are 16 products with the 16 matrices [outputs, channels] of transformed windows,
//            which are an operand (for y and dx) or the result (for dweight).
//
//   y        = x's panels times the windows
//   dx       = dy's panels times the windows rotated by 180 degrees, with a padding of 2 - padding
//   dweight  = x's panels times dy's panels, summed over all groups
//
// A group has at most winograd_tiles tiles and winograd_panel elements (but at least one row of
// tiles). It is a part of one image, or several complete images. Pixels outside the images are read
// from an array of zeros. Pixels of tiles that exceed y's last row or column are written to an
// array that is not used.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/winograd_group.hpp>
#include <ashlar/device/host/winograd_transform.hpp>

namespace ashlar::device::host {

namespace detail {

/// Returns the extents for computing y from x; below, the gradient of x from the gradient of y.
constexpr winograd_extents winograd_forward_extents(convolution_extents const& e) {
  return {e.x, e.y(), e.window.padding};
}
constexpr winograd_extents winograd_backward_extents(convolution_extents const& e) {
  return {e.y(), e.x, 2 - e.window.padding};
}

/// Returns the distance in elements between two matrices of transformed windows.
constexpr std::int64_t winograd_window_pitch(convolution_extents const& e) {
  return winograd_pitch(e.outputs * e.x.channels);
}

/// Returns the index, in the transformed window, of the number that has index k after the window is
/// rotated by 180 degrees.
constexpr std::int64_t turned_place(std::int64_t k) {
  constexpr std::int64_t turned[4] = {3, 1, 2, 0};
  return 4 * turned[k / 4] + turned[k % 4];
}

/// Writes the convolution of the images `from` with the windows, plus the bias of each channel, to
/// `to`. If `turned`, the windows are rotated by 180 degrees and their outputs and inputs are
/// exchanged: the channels of `from` are the windows' outputs.
template <class T>
void winograd_images(T const* from, T const* windows, std::int64_t window_pitch, bool turned,
                     T const* bias, winograd_extents const& e, T* workspace, T* to) {
  winograd_workspace<T> const w(e, workspace);
  if (bias == nullptr) bias = w.zeros;
  std::int64_t const k = e.from.channels, n = e.to.channels;
  for_each_winograd_group(e, [&](winograd_group const& g) {
    read_tiles(from, e, g, w);
    for (std::int64_t place = 0; place < winograd_places; ++place)
      host::gemm(false, !turned, g.tiles, n, k, T(1), w.from + place * w.from_pitch, k,
                 windows + (turned ? turned_place(place) : place) * window_pitch, turned ? n : k,
                 T(0), w.to + place * w.to_pitch, n);
    write_tiles(bias, e, g, w, to);
  });
}

}  // namespace detail

/// Returns the number of elements of workspace that each of the passes needs.
constexpr std::int64_t winograd_workspace_size(convolution_extents const& e) {
  return winograd_places * detail::winograd_window_pitch(e) +
         std::max(detail::winograd_forward_extents(e).workspace(),
                  detail::winograd_backward_extents(e).workspace());
}

/// Returns an upper bound of winograd_workspace_size for every part of the images, channels and
/// outputs that a rank may have.
constexpr std::int64_t winograd_workspace_bound(convolution_extents const& e) {
  return winograd_places * detail::winograd_window_pitch(e) +
         std::max(detail::winograd_forward_extents(e).workspace_bound(),
                  detail::winograd_backward_extents(e).workspace_bound());
}

/// Computes y, the convolution of x with the weight, plus the bias. bias may be null.
template <class T>
void winograd_forward(T const* x, T const* weight, T const* bias, convolution_extents const& e,
                      T* workspace, T* y) {
  std::int64_t const pitch = detail::winograd_window_pitch(e);
  winograd_window(weight, e.outputs * e.x.channels, workspace, pitch);
  detail::winograd_images(x, workspace, pitch, false, bias, detail::winograd_forward_extents(e),
                          workspace + winograd_places * pitch, y);
}

/// Computes dx (overwritten) and adds the weight's gradient to dweight. If dx is null, it is not
/// computed, and the weight is not read.
template <class T>
void winograd_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                       T* workspace, T* dx, T* dweight) {
  std::int64_t const windows = e.outputs * e.x.channels, pitch = detail::winograd_window_pitch(e);
  T* const rest = workspace + winograd_places * pitch;
  auto const forward = detail::winograd_forward_extents(e);
  detail::winograd_workspace<T> const w(forward, rest);
  T before = T(0);  // the beta of the products: the first group overwrites the sums
  detail::for_each_winograd_group(forward, [&](detail::winograd_group const& g) {
    detail::read_tiles(x, forward, g, w);
    detail::read_gradient_tiles(dy, forward, g, w);
    for (std::int64_t place = 0; place < winograd_places; ++place)
      gemm(true, false, e.outputs, e.x.channels, g.tiles, T(1), w.to + place * w.to_pitch,
           e.outputs, w.from + place * w.from_pitch, e.x.channels, before,
           workspace + place * pitch, e.x.channels);
    before = T(1);
  });
  if (before != T(0))
    winograd_window_gradient(static_cast<T const*>(workspace), pitch, windows, dweight);
  if (dx == nullptr) return;
  winograd_window(weight, windows, workspace, pitch);
  detail::winograd_images(dy, workspace, pitch, true, static_cast<T const*>(nullptr),
                          detail::winograd_backward_extents(e), rest, dx);
}

}  // namespace ashlar::device::host
