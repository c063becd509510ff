// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Functions for the layers on images. They check the input and the sliding window of a convolution
// or pooling, let plans split images along their height, and say which rows of the images a rank
// then has.

#include <limits>
#include <string>

#include <ashlar/device/window.hpp>
#include <ashlar/signature/image.hpp>
#include <ashlar/step/layer_spec.hpp>

namespace ashlar::nn {

/// Returns the extents of the images that this rank has of x: samples, channels, rows and columns.
template <class X>
device::image_extents local_images(X const& x) {
  return {x.local_size(0), x.local_size(1), x.local_size(2), x.local_size(3)};
}

/// Returns the extents of this rank's part of the images x. The window w makes this rank's part of
/// y from these. If the rows of images are split, x includes its halo: the rows of other ranks
/// that the windows read. The result also says how many rows of padding are missing above and
/// below (device/window.hpp). The gradients of x and y may take their place.
template <class X, class Y>
device::image_extents local_images(X const& x, Y const& y, device::window const& w) {
  auto e = local_images(x);
  // `rows` are the rows of x that this rank has, and `places` are the rows of y that it has. This
  // rank's windows cover the rows from places.begin * stride - padding to `end`. Rows that the
  // windows cover but x does not have are padding.
  interval const rows = x.local_box()[2], places = y.local_box()[2];
  e.missing_above = e.missing_below = w.padding;
  if (places.size == 0) return e;
  std::int64_t const end = (places.end() - 1) * w.stride - w.padding + w.extent;
  e.missing_above = places.begin * w.stride - rows.begin;
  e.missing_below = w.padding - (end - rows.end());
  return e;
}

namespace detail {

constexpr void check_window(char const* layer, device::window const& w) {
  if (char const* const wrong = w.fault()) throw error(layer, wrong);
}

/// Throws ashlar::error unless x has the extents of images into which the window fits. Expects a
/// window that check_window has accepted.
constexpr void check_images(char const* layer, shape const& x, device::window const& w) {
  if (x.rank() != 4)
    throw error(layer, "the input is " + to_string(x) +
                           " but must be images, [batch, channels, height, width].");
  if (x[2] < 1 || x[3] < 1 || w.places(x[2]) < 1 || w.places(x[3]) < 1)
    throw error(layer, "a window of " + std::to_string(w.extent) + " with padding " +
                           std::to_string(w.padding) + " does not fit into the images of " +
                           to_string(x) + ".");
  if (x[2] > std::numeric_limits<std::int32_t>::max() / x[3])
    throw error(layer, "an image of " + to_string(x) + " has too many pixels.");
}

/// Adds a signature row that splits images along their height. If a plan uses this row, the step's
/// program exchanges halos: each rank receives the rows of pixels that its windows read and that
/// other ranks have.
constexpr void offer_halo(search::layer_spec& s, device::window const& w) {
  s.halo = {2, w};
  s.rows.push_back(halo_row(s.parameters.size()));
}

}  // namespace detail
}  // namespace ashlar::nn
