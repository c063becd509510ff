// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Enlarges images by a whole factor. Every pixel becomes a square of equal pixels:
//
//   upsample(2)        [batch, channels, height, width] -> [batch, channels, 2 height, 2 width]
//
// Plans may split images or channels, and the layer accepts a partial input and makes a partial
// output (signature/image.hpp). For the backward pass, nothing is kept. The opposite, fewer pixels,
// is a convolution with a stride.

#include <ashlar/device/host/upsample.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/window.hpp>
#include <ashlar/signature/image.hpp>

namespace ashlar::nn {

/// A layer that maps x [batch, channels, height, width] to y with factor² times as many pixels. Its
/// passes do not communicate. It runs on the host only.
class upsample {
 public:
  static constexpr int x_rank = 4;

  /// Throws ashlar::error unless the factor is positive.
  constexpr explicit upsample(std::int64_t factor) : factor_(factor) {
    if (factor < 1) throw error("nn::upsample", "the factor must be 1 or more.");
  }

  constexpr search::layer_spec spec(shape const& x) const {
    detail::check_images("nn::upsample", x, {1, 1, 0});
    search::layer_spec s;
    s.name = "upsample";
    s.x = x;
    s.y = {x[0], x[1], x[2] * factor_, x[3] * factor_};
    s.rows = upsample_training_rows();
    s.forward_values = s.backward_values = static_cast<double>(x.elements() + s.y.elements());
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 4,
                  "nn::upsample: the input must be images, [batch, channels, height, width].");
    using T = typename Call::value_type;
    auto y = c.make_y();
    device::host::upsample_forward(static_cast<T const*>(c.x().data()), local_images(c.x()),
                                   factor_, y.data());
    return y;
  }
  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    auto dx = c.make_dx();
    device::host::upsample_backward(static_cast<T const*>(c.dy().data()), local_images(dx), factor_,
                                    dx.data());
    return dx;
  }

 private:
  std::int64_t factor_;
};

}  // namespace ashlar::nn
