// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Two-dimensional convolution as in neural networks: the window (convolution kernel) is not
// mirrored. There are two methods, and the method that is faster for the given extents is used:
//
//   Winograd's method   winograd.hpp             3 x 3 windows with stride 1, padding of at most 2
//                                                and 8 or more channels, unless the images are few
//                                                or small
//   im2col and GEMM     convolution_strips.hpp   all other convolutions
//
// The results of the two methods differ only in rounding.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/convolution_strips.hpp>
#include <ashlar/device/host/winograd.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// Returns whether Winograd's method can compute a convolution with this window.
constexpr bool has_winograd(window const& w) {
  return w.extent == 3 && w.stride == 1 && w.padding <= 2;
}

/// Returns whether a convolution uses Winograd's method. The limits come from measurements in
/// float. In this table, each figure is the time of Winograd's method divided by the time of im2col
/// and GEMM:
///
///   64 images of 32 x 32 pixels   0.4 with 16 channels, 0.6 with 8, 1 with 4, 1.2 or more with 3
///   256 channels                  0.9 for 16 tiles of 2 x 2 output pixels, 1.4 for 4 tiles
///
/// With few tiles, transforming the windows costs more time than Winograd's method saves. If y has
/// only one row or column, half of each tile would be wasted.
constexpr bool takes_winograd(convolution_extents const& e) {
  std::int64_t const rows = e.y_rows(), columns = e.y_columns();
  std::int64_t const tiles = e.x.batch * ((rows + 1) / 2) * ((columns + 1) / 2);
  return has_winograd(e.window) && e.x.channels >= 8 && rows >= 2 && columns >= 2 && tiles >= 16;
}

/// Returns the number of elements of the workspace that convolution_forward and
/// convolution_backward need.
constexpr std::int64_t convolution_workspace(convolution_extents const& e) {
  return takes_winograd(e) ? winograd_workspace_size(e) : strips_workspace(e);
}

/// Returns an upper bound of convolution_workspace. `e` describes the complete convolution. The
/// bound holds for any part of the images, channels and outputs that a rank may have. If the
/// complete convolution does not use Winograd's method, no part of the convolution uses this
/// method. `splits_rows` says that a rank may also have only some rows of the images.
constexpr std::int64_t convolution_workspace_bound(convolution_extents const& e,
                                                   bool splits_rows = false) {
  std::int64_t const strips = strips_workspace_bound(e);
  return takes_winograd(e) ? std::max(strips, winograd_workspace_bound(e, splits_rows)) : strips;
}

/// Computes y, the convolution of x with the weight, plus the bias of each output channel. bias may
/// be null. The workspace has convolution_workspace(e) elements.
template <class T>
void convolution_forward(T const* x, T const* weight, T const* bias, convolution_extents const& e,
                         T* workspace, T* y) {
  if (takes_winograd(e)) winograd_forward(x, weight, bias, e, workspace, y);
  else strips_forward(x, weight, bias, e, workspace, y);
}

/// Overwrites dx with the gradient of x and adds the gradient of the weight to dweight. If dx is
/// null, only dweight is computed, and `weight` is not read. The workspace has
/// convolution_workspace(e) elements.
template <class T>
void convolution_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                          T* workspace, T* dx, T* dweight) {
  if (takes_winograd(e)) winograd_backward(dy, x, weight, e, workspace, dx, dweight);
  else strips_backward(dy, x, weight, e, workspace, dx, dweight);
}

}  // namespace ashlar::device::host
