// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Two-dimensional convolution (as in neural networks: the window is not mirrored). Uses one of two
// methods, whichever is faster for the extents:
//
//   Winograd's method   winograd.hpp             3 x 3 windows with stride 1 and 8 or more
//                                                channels, unless the images are few or small
//   im2col and GEMM     convolution_strips.hpp   all other convolutions
//
// The results of the two methods differ only in rounding. The choice depends only on the extents.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/convolution_strips.hpp>
#include <ashlar/device/host/winograd.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// Returns whether Winograd's method supports a window.
constexpr bool has_winograd(window const& w) {
  return w.extent == 3 && w.stride == 1 && w.padding <= 2;
}

/// Returns whether a convolution uses Winograd's method. The limits come from measurements in float
/// of its time divided by the time of im2col. On 64 images of 32 x 32 pixels this ratio is 0.4 with
/// 16 channels, 0.6 with 8, 1 with 4, and 1.2 or more with 3. With few tiles, transforming the
/// windows costs more than it saves: with 256 channels, the ratio is 0.9 for 16 tiles and 1.4 for 4
/// tiles. If y has only one row or column, half of each 2 x 2 tile would be wasted.
constexpr bool takes_winograd(convolution_extents const& e) {
  std::int64_t const rows = e.y_rows(), columns = e.y_columns();
  std::int64_t const tiles = e.x.batch * ((rows + 1) / 2) * ((columns + 1) / 2);
  return has_winograd(e.window) && e.x.channels >= 8 && rows >= 2 && columns >= 2 && tiles >= 16;
}

/// Returns the size of the workspace, in elements, that convolution_forward and
/// convolution_backward need.
constexpr std::int64_t convolution_workspace(convolution_extents const& e) {
  return takes_winograd(e) ? winograd_workspace_size(e) : strips_workspace(e);
}

/// Returns an upper bound of convolution_workspace that holds on any rank of any mesh, whichever
/// part of the images, channels and outputs it has. If the complete convolution does not use
/// Winograd's method, no part of it does.
constexpr std::int64_t convolution_workspace_bound(convolution_extents const& e) {
  std::int64_t const strips = strips_workspace_bound(e);
  return takes_winograd(e) ? std::max(strips, winograd_workspace_bound(e)) : strips;
}

/// Computes y, the convolution of x with the weight, plus the bias of each output channel. bias may
/// be null.
template <class T>
void convolution_forward(T const* x, T const* weight, T const* bias, convolution_extents const& e,
                         T* workspace, T* y) {
  if (takes_winograd(e)) winograd_forward(x, weight, bias, e, workspace, y);
  else strips_forward(x, weight, bias, e, workspace, y);
}

/// Overwrites dx with the gradient of x and adds the gradient of the weight to dweight. If dx is
/// null, only dweight is computed, and `weight` is not read.
template <class T>
void convolution_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                          T* workspace, T* dx, T* dweight) {
  if (takes_winograd(e)) winograd_backward(dy, x, weight, e, workspace, dx, dweight);
  else strips_backward(dy, x, weight, e, workspace, dx, dweight);
}

}  // namespace ashlar::device::host
