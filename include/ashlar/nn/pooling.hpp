// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Pooling of images, channel by channel: x [batch, channels, height, width] -> y [batch, channels,
// h', w'].
//
//   max_pool(2)                        2 x 2, stride 2
//   max_pool(3, {.stride = 2})         overlapping, as in AlexNet
//   average_pool(7)                    padding counts as zero, so that the map is linear
//
// Plans may split images or channels, and with `.halo` the rows of images. The average also accepts
// a partial input and makes a partial output (signature/image.hpp). For the backward pass, the
// maximum keeps one index per element of y, and the average keeps nothing.

#include <ashlar/device/host/pooling.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/window.hpp>
#include <ashlar/signature/image.hpp>

namespace ashlar::nn {

struct pool_options {
  std::int64_t stride = 0;  ///< 0 means that the stride is the extent of the window
  std::int64_t padding = 0;
  bool halo = false;  ///< whether plans may split the rows of images (convolution.hpp)
};

struct pool_maximum {};
struct pool_average {};

/// A layer that maps x [batch, channels, height, width] to y [batch, channels, h', w']. Its passes
/// do not communicate.
template <class Kind>
class pool {
  static constexpr bool maximum = std::is_same_v<Kind, pool_maximum>;
  static constexpr char const* entity = maximum ? "nn::max_pool" : "nn::average_pool";

 public:
  static constexpr int x_rank = 4;

  /// Throws ashlar::error unless extent and stride are positive and the padding is at least 0 and
  /// less than the extent.
  constexpr explicit pool(std::int64_t extent, pool_options const& options = {})
      : window_{extent, options.stride == 0 ? extent : options.stride, options.padding},
        halo_(options.halo) {
    detail::check_window(entity, window_);
  }

  constexpr search::layer_spec spec(shape const& x) const {
    detail::check_images(entity, x, window_);
    search::layer_spec s;
    s.name = maximum ? "max_pool" : "average_pool";
    s.x = x;
    s.y = {x[0], x[1], window_.places(x[2]), window_.places(x[3])};
    s.rows = maximum ? max_pool_training_rows() : average_pool_training_rows();
    if (halo_) detail::offer_halo(s, window_);
    s.forward_values = s.backward_values = static_cast<double>(x.elements() + s.y.elements());
    s.saved_values = maximum ? static_cast<double>(s.y.elements()) : 0;
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 4,
                  "nn: pooling takes images, [batch, channels, height, width], as its input.");
    auto y = c.make_y();
    auto const* const from = detail::constants_of(c.x());
    if constexpr (maximum) {
      auto chosen = empty<std::int32_t, 4>(c.mesh(), y.extents(), c.at().y());
      device::host::max_pool_forward(from, local_images(c.x(), y, window_), window_, y.data(),
                                     chosen.data());
      return made(y, chosen);
    } else {
      device::host::average_pool_forward(from, local_images(c.x(), y, window_), window_, y.data());
      return y;
    }
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto dx = c.make_dx();
    auto const images = local_images(dx, c.dy(), window_);
    if constexpr (maximum)
      device::host::max_pool_backward(detail::constants_of(c.dy()),
                                      detail::constants_of(c.template kept<0>()), images, window_,
                                      dx.data());
    else
      device::host::average_pool_backward(detail::constants_of(c.dy()), images, window_, dx.data());
    return dx;
  }

 private:
  device::window window_;
  bool halo_;
};

using max_pool = pool<pool_maximum>;
using average_pool = pool<pool_average>;

}  // namespace ashlar::nn
