// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Group norm of images [batch, channels, height, width]. Consecutive channels form a group. The
// pixels of a group's channels are normalized together, as layer norm normalizes a row:
//
//   y = (x - mean) rstd gain[channel] + bias[channel]
//
// `mean` is the mean of the pixels of one group of one image, and `rstd` the reciprocal of their
// standard deviation. The formulas are those of layer norm (formula/layer_norm.hpp). A group's
// pixels are contiguous, so the function of layer norm computes mean and rstd. The functions of
// this file take the images and the groups of one rank.

#include <cstdint>
#include <type_traits>

#include <ashlar/device/formula/layer_norm.hpp>
#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/layer_norm.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// Images whose channels form groups of `of_group` channels. `of_group` must divide the number of
/// channels.
struct group_extents {
  image_extents images;
  std::int64_t of_group;

  /// Returns the number of groups of all images.
  constexpr std::int64_t groups() const {
    return images.batch * (of_group == 0 ? 0 : images.channels / of_group);
  }
  /// Returns the number of pixels of all channels of a group.
  constexpr std::int64_t pixels() const { return of_group * images.plane(); }
};

namespace detail {

/// Calls visit(channel, first) for each plane of group number `group`, counted over all images. A
/// plane is one channel of one image. `channel` is the number of the plane's channel on this rank,
/// and `first` is the index of the plane's first pixel.
template <class Visit>
void for_each_plane(group_extents const& e, std::int64_t group, Visit visit) {
  for (std::int64_t k = 0; k < e.of_group; ++k) {
    std::int64_t const plane = group * e.of_group + k;
    visit(plane % e.images.channels, plane * e.images.plane());
  }
}

}  // namespace detail

/// Computes y, and the mean and the reciprocal standard deviation of each group of each image,
/// which the backward pass needs.
template <class T>
void group_norm_forward(T const* x, T const* gain, T const* bias, group_extents const& e,
                        std::type_identity_t<T> epsilon, T* y, T* mean, T* rstd) {
  if (e.pixels() == 0) return;
  std::int64_t const plane = e.images.plane();
  for (std::int64_t g = 0; g < e.groups(); ++g) {
    between_blocks();
    auto const moments = moments_of<T>(x + g * e.pixels(), e.pixels(), epsilon);
    T const centre = mean[g] = moments.mean, scale = rstd[g] = moments.rstd;
    detail::for_each_plane(e, g, [&](std::int64_t channel, std::int64_t first) {
      T const gamma = gain[channel], beta = bias[channel];
      T const* const from = x + first;
      T* const to = y + first;
      ASHLAR_VECTORIZE
      for (std::int64_t i = 0; i < plane; ++i)
        to[i] = layer_norm_value(from[i], centre, scale, gamma, beta);
    });
  }
}

/// Computes dx, and adds the gradients of gain and bias to dgain and dbias. `mean` and `rstd` are
/// the results of the forward pass.
template <class T>
void group_norm_backward(T const* dy, T const* x, T const* mean, T const* rstd, T const* gain,
                         group_extents const& e, T* dx, T* dgain, T* dbias) {
  if (e.pixels() == 0) return;
  std::int64_t const plane = e.images.plane();
  T const share = T(1) / static_cast<T>(e.pixels());
  for (std::int64_t g = 0; g < e.groups(); ++g) {
    between_blocks();
    T const centre = mean[g], scale = rstd[g];
    T sum_g = 0, sum_g_xhat = 0;
    detail::for_each_plane(e, g, [&](std::int64_t channel, std::int64_t first) {
      T const *const slope = dy + first, *const from = x + first;
      T const sum = reduce_sum<T>(plane, [=](std::int64_t i) { return slope[i]; });
      T const sum_xhat = reduce_sum<T>(
          plane, [=](std::int64_t i) { return slope[i] * ((from[i] - centre) * scale); });
      dbias[channel] += sum;
      dgain[channel] += sum_xhat;
      sum_g += gain[channel] * sum;
      sum_g_xhat += gain[channel] * sum_xhat;
    });
    layer_norm_gradient<T> const gradient(centre, scale, sum_g, sum_g_xhat, share);
    detail::for_each_plane(e, g, [&](std::int64_t channel, std::int64_t first) {
      T const gamma = gain[channel];
      T const *const slope = dy + first, *const from = x + first;
      T* const to = dx + first;
      ASHLAR_VECTORIZE
      for (std::int64_t i = 0; i < plane; ++i) to[i] = gradient(slope[i], from[i], gamma);
    });
  }
}

}  // namespace ashlar::device::host
