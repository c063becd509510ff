// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Convolution by windows of 3 x 3 and stride 1 in Winograd's form (winograd_transform.hpp), for which y is cut
// into tiles of 2 x 2 pixels. One group of tiles after the other:
//
//   lines    the pixels of the group's images with channels last, so that the maps of tiles have runs of
//            channels to work on; images of 2 x 2 are as good as large ones
//   panels   16 matrices [tiles, channels] of transformed tiles, one for each place in a tile
//   GEMM     16 products by, or into, the 16 matrices [outputs, channels] of transformed windows
//
//   y        x's panels by the windows              dx   dy's panels by the windows turned by 180 degrees,
//   dweight  x's panels by those of dy, summed           with a padding of 2 - padding
//
// A group is winograd_tiles, or as many as make winograd_panel elements, of one image or of several whole ones.
// Pixels outside the images are a line of zeros; tiles that stand over y's last row or column write elsewhere.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/winograd_group.hpp>
#include <ashlar/device/host/winograd_transform.hpp>

namespace ashlar::device::host {

namespace detail {

/// y from x, and x's gradient from y's.
constexpr winograd_extents winograd_forward_extents(convolution_extents const& e) {
  return {e.x, e.y(), e.window.padding};
}
constexpr winograd_extents winograd_backward_extents(convolution_extents const& e) {
  return {e.y(), e.x, 2 - e.window.padding};
}

/// From one matrix of windows to the next.
constexpr std::int64_t winograd_window_pitch(convolution_extents const& e) {
  return winograd_pitch(e.outputs * e.x.channels);
}

/// The place in a transformed window of what is in place k when the window is turned by 180 degrees.
constexpr std::int64_t turned_place(std::int64_t k) {
  constexpr std::int64_t turned[4] = {3, 1, 2, 0};
  return 4 * turned[k / 4] + turned[k % 4];
}

/// Writes to `to` the convolution of the images `from` with the windows, plus the bias of each channel. If
/// `turned`, the windows are turned by 180 degrees and map their outputs, the channels of `from`, to their inputs.
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

/// Elements of workspace that each of the passes needs.
constexpr std::int64_t winograd_workspace_size(convolution_extents const& e) {
  return winograd_places * detail::winograd_window_pitch(e) +
         std::max(detail::winograd_forward_extents(e).workspace(),
                  detail::winograd_backward_extents(e).workspace());
}

/// An upper bound of winograd_workspace_size for the parts of the images, channels and outputs that a rank may
/// have.
constexpr std::int64_t winograd_workspace_bound(convolution_extents const& e) {
  return winograd_places * detail::winograd_window_pitch(e) +
         std::max(detail::winograd_forward_extents(e).workspace_bound(),
                  detail::winograd_backward_extents(e).workspace_bound());
}

/// y = x under the windows of the weight + bias; bias null: none.
template <class T>
void winograd_forward(T const* x, T const* weight, T const* bias, convolution_extents const& e,
                      T* workspace, T* y) {
  std::int64_t const pitch = detail::winograd_window_pitch(e);
  winograd_window(weight, e.outputs * e.x.channels, workspace, pitch);
  detail::winograd_images(x, workspace, pitch, false, bias, detail::winograd_forward_extents(e),
                          workspace + winograd_places * pitch, y);
}

/// dx = the gradient of x (overwritten), dweight += the gradient of the weight. dx null: not made, and
/// the weight not read.
template <class T>
void winograd_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                       T* workspace, T* dx, T* dweight) {
  std::int64_t const windows = e.outputs * e.x.channels, pitch = detail::winograd_window_pitch(e);
  T* const rest = workspace + winograd_places * pitch;
  auto const forward = detail::winograd_forward_extents(e);
  detail::winograd_workspace<T> const w(forward, rest);
  T before = T(0);  // nothing is there to be added to before the first group
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
