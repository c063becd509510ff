// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Convolution with 3 x 3 windows and stride 1 by Winograd's method. A direct convolution needs 36
// multiplications for 2 x 2 pixels of the output y and one pair of channels (an input and an output
// channel). Winograd's method needs 16. It divides y into tiles of 2 x 2 pixels and works as
// follows:
//
//   1. The 4 x 4 input pixels of a tile are transformed to 16 numbers (winograd_transform.hpp).
//   2. A window, which has the 3 x 3 weights of one pair of channels, is transformed to 16 numbers.
//   3. Number k of the tile is multiplied by number k of the window, for each of the 16 numbers.
//   4. The products are summed over the input channels.
//   5. The 16 sums are transformed to the tile of y.
//
// Many tiles are processed together as a group, so that the multiplications become 16 matrix
// products. The steps for a group are:
//
//   lines    Copies the pixels of the group with the channel as the last dim. The tiles can then be
//            transformed in loops over channels, which are fast for small images too.
//   panels   Transforms the tiles into 16 matrices [tiles, channels], called panels: one for each
//            of the 16 numbers of a transformed tile.
//   GEMM     Computes 16 matrix products, one for each of the 16 numbers:
//
//              for y         panels of x times the transformed windows
//              for dx        panels of dy times the transforms of windows that are rotated by 180
//                            degrees, with a padding of 2 - window.padding
//              for dweight   panels of x times panels of dy, summed over all groups
//
//   result   Transforms the 16 products back to pixels of y or dx, and copies these to the images.
//            For dweight, the products are transformed back once, after the last group.
//
// A group is a part of one image, or several complete images. A group has at most winograd_tiles
// tiles, and the panels of a group have at most winograd_panel elements. Only a group of a single
// row of tiles may exceed these limits. Pixels outside the images are read from an array of zeros.
// Tiles may reach beyond the last row or column of y. The pixels beyond y are written to an array
// that nothing reads.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/winograd_group.hpp>
#include <ashlar/device/host/winograd_transform.hpp>

namespace ashlar::device::host {

namespace detail {

/// Returns the extents with which Winograd's method computes y from x.
constexpr winograd_extents winograd_forward_extents(convolution_extents const& e) {
  return {e.x, e.y(), e.window.padding, e.x.padding_above(e.window)};
}
/// Returns the extents with which Winograd's method computes dx from dy. This is a convolution too,
/// with another padding.
constexpr winograd_extents winograd_backward_extents(convolution_extents const& e) {
  return {e.y(), e.x, 2 - e.window.padding, 2 - e.x.padding_above(e.window)};
}

/// The transformed windows of a convolution are 16 matrices [outputs, channels]. Returns the
/// distance between two of these matrices, in elements.
constexpr std::int64_t winograd_window_pitch(convolution_extents const& e) {
  return winograd_pitch(e.outputs * e.x.channels);
}

/// Rotating a window by 180 degrees permutes the 16 numbers of the window's transform. Returns the
/// index that number k of the rotated window has in the transform of the original window.
constexpr std::int64_t turned_place(std::int64_t k) {
  constexpr std::int64_t turned[4] = {3, 1, 2, 0};
  return 4 * turned[k / 4] + turned[k % 4];
}

/// Computes the images `to` from the images `from` and the transformed windows. If `turned` is
/// false, computes y from x and adds the bias of each channel. If `turned` is true, computes dx
/// from dy: the windows are rotated by 180 degrees, and their input and output channels are
/// exchanged. A null bias is zero.
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

/// Returns the number of elements of the workspace that winograd_forward and winograd_backward
/// need.
constexpr std::int64_t winograd_workspace_size(convolution_extents const& e) {
  return winograd_places * detail::winograd_window_pitch(e) +
         std::max(detail::winograd_forward_extents(e).workspace(),
                  detail::winograd_backward_extents(e).workspace());
}

/// Returns an upper bound of winograd_workspace_size. `e` describes the complete convolution. The
/// bound holds for any part of the images, channels and outputs that a rank may have.
/// `splits_rows` says that a rank may have only some rows.
constexpr std::int64_t winograd_workspace_bound(convolution_extents const& e, bool splits_rows) {
  return winograd_places * detail::winograd_window_pitch(e) +
         std::max(detail::winograd_forward_extents(e).workspace_bound(splits_rows),
                  detail::winograd_backward_extents(e).workspace_bound(splits_rows));
}

/// Computes y, the convolution of x with the weight, plus the bias of each output channel. bias may
/// be null. The workspace has winograd_workspace_size(e) elements.
template <class T>
void winograd_forward(T const* x, T const* weight, T const* bias, convolution_extents const& e,
                      T* workspace, T* y) {
  std::int64_t const pitch = detail::winograd_window_pitch(e);
  winograd_window(weight, e.outputs * e.x.channels, workspace, pitch);
  detail::winograd_images(x, workspace, pitch, false, bias, detail::winograd_forward_extents(e),
                          workspace + winograd_places * pitch, y);
}

/// Overwrites dx with the gradient of x and adds the gradient of the weight to dweight. If dx is
/// null, only dweight is computed, and `weight` is not read. The workspace has
/// winograd_workspace_size(e) elements.
template <class T>
void winograd_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                       T* workspace, T* dx, T* dweight) {
  std::int64_t const windows = e.outputs * e.x.channels, pitch = detail::winograd_window_pitch(e);
  T* const rest = workspace + winograd_places * pitch;
  auto const forward = detail::winograd_forward_extents(e);
  detail::winograd_workspace<T> const w(forward, rest);
  T before = T(0);  // the beta of the products: 0 for the first group, then 1 to add to the sums
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
