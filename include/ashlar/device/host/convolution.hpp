// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Two-dimensional convolution (in the sense of neural networks: correlation), by the faster of two ways:
//
//   windows of 3 x 3 and stride 1, 8 channels or more   Winograd's form    winograd.hpp
//   all others                                          im2col and GEMM    convolution_strips.hpp
//
// The two differ in rounding only. Which is taken depends on the extents alone.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/convolution_extents.hpp>
#include <ashlar/device/host/convolution_strips.hpp>
#include <ashlar/device/host/winograd.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// Whether Winograd's form is there for a window.
constexpr bool has_winograd(window const& w) {
  return w.extent == 3 && w.stride == 1 && w.padding <= 2;
}

/// Whether a convolution is computed in Winograd's form. Measured in float on 64 images of 32 x 32, it takes
/// 0.4 of the time of im2col with 16 channels, 0.6 with 8, as much with 4 and 1.2 or more with 3. Few tiles do not pay
/// for transforming the windows: of 256 channels 16 tiles take 0.9 of the time and 4 tiles 1.4. Of images of
/// one row or column half of each tile is wasted.
constexpr bool takes_winograd(convolution_extents const& e) {
  std::int64_t const rows = e.y_rows(), columns = e.y_columns();
  std::int64_t const tiles = e.x.batch * ((rows + 1) / 2) * ((columns + 1) / 2);
  return has_winograd(e.window) && e.x.channels >= 8 && rows >= 2 && columns >= 2 && tiles >= 16;
}

/// Elements of workspace that each of the passes needs.
constexpr std::int64_t convolution_workspace(convolution_extents const& e) {
  return takes_winograd(e) ? winograd_workspace_size(e) : strips_workspace(e);
}

/// An upper bound of convolution_workspace for the parts of the images, channels and outputs that a rank may
/// have. If the whole is not computed in Winograd's form, none of its parts is.
constexpr std::int64_t convolution_workspace_bound(convolution_extents const& e) {
  std::int64_t const strips = strips_workspace_bound(e);
  return takes_winograd(e) ? std::max(strips, winograd_workspace_bound(e)) : strips;
}

/// y = x under the windows of the weight, plus the bias of each output; bias null: none.
template <class T>
void convolution_forward(T const* x, T const* weight, T const* bias, convolution_extents const& e,
                         T* workspace, T* y) {
  if (takes_winograd(e)) winograd_forward(x, weight, bias, e, workspace, y);
  else strips_forward(x, weight, bias, e, workspace, y);
}

/// dx = the gradient of x (overwritten), dweight += the gradient of the weight. dx null: not made, and
/// the weight not read.
template <class T>
void convolution_backward(T const* dy, T const* x, T const* weight, convolution_extents const& e,
                          T* workspace, T* dx, T* dweight) {
  if (takes_winograd(e)) winograd_backward(dy, x, weight, e, workspace, dx, dweight);
  else strips_backward(dy, x, weight, e, workspace, dx, dweight);
}

}  // namespace ashlar::device::host
