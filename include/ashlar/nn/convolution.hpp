// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Two-dimensional convolution of images, x [batch, in, height, width] -> y [batch, out, h', w'].
//
//   convolution(3, 64, 3, {.padding = 1})              3 x 3, with one pixel of zeros around the
//                                                      image
//   convolution(3, 64, 11, {.stride = 4, .padding = 2, .bias = false})
//
// Channels come before pixels (NCHW), so a split of channels gives whole planes to each rank. The
// weight is [out, in, kernel, kernel]. device/host/convolution.hpp chooses the algorithm.
//
// Plans may split the images, the output channels or the input channels (signature/image.hpp). With
// `.halo` they may also split the rows of pixels: the step's program then exchanges the rows that
// windows of several ranks read (layout/halo_layout.hpp).
//
// Initialization: normal deviates of variance 2 / (in kernel²), after He et al. 2015; the bias is
// zero.

#include <cmath>

#include <ashlar/device/host/convolution.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/window.hpp>
#include <ashlar/signature/image.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

struct convolution_options {
  std::int64_t stride = 1;
  std::int64_t padding = 0;  ///< the number of zeros added on every side
  bool bias = true;
  bool halo = false;  ///< whether plans may split the rows of images
};

/// A layer that maps x [batch, in, height, width] to y [batch, out, h', w'].
class convolution {
 public:
  static constexpr int x_rank = 4;
  using parameters = ranks<4, 1>;

  /// Throws ashlar::error unless channels, kernel and stride are positive and the padding is at
  /// least 0 and less than the kernel.
  constexpr convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                        convolution_options const& options = {})
      : in_(in), out_(out), window_{kernel, options.stride, options.padding}, bias_(options.bias),
        halo_(options.halo) {
    if (in < 1 || out < 1)
      throw error("nn::convolution", "the numbers of channels must be 1 or more.");
    detail::check_window("nn::convolution", window_);
  }

  constexpr search::layer_spec spec(shape const& x) const {
    detail::check_images("nn::convolution", x, window_);
    if (x[1] != in_)
      throw error("nn::convolution", "the input is " + to_string(x) + " but the layer takes " +
                                         std::to_string(in_) + " channels in dim 1.");
    search::layer_spec s;
    s.name = "convolution";
    s.x = x;
    s.y = {x[0], out_, window_.places(x[2]), window_.places(x[3])};
    s.parameters.push_back({"weight", weight_extents(), true});
    if (bias_) s.parameters.push_back({"bias", {out_}, false});
    s.rows = convolution_training_rows(bias_);
    if (halo_) detail::offer_halo(s, window_);
    auto const pixels = static_cast<double>(s.y[0] * s.y[2] * s.y[3]);
    auto const window = static_cast<double>(in_ * window_.extent * window_.extent);
    s.forward_flops = 2 * pixels * window * static_cast<double>(out_);
    s.backward_flops = 2 * s.forward_flops;
    // These counts assume im2col, the algorithm with the most memory traffic. The forward pass
    // writes the im2col matrix. The backward pass writes it again, and reads its gradient.
    s.forward_values = pixels * window + static_cast<double>(x.elements() + s.y.elements());
    s.backward_values = 2 * pixels * window + static_cast<double>(2 * x.elements());
    // If dx is not needed, the backward pass is one matrix product instead of two, without col2im.
    s.backward = search::backward_form::separable;
    s.gradient_flops = s.backward_flops / 2;
    s.gradient_values = s.backward_values / 2;
    s.saved_values = static_cast<double>(x.elements());
    s.workspace_values = static_cast<double>(
        device::host::convolution_workspace_bound({{x[0], in_, x[2], x[3]}, out_, window_}, halo_));
    // The GEMM is one product per image: m is the number of pixels, n the number of output
    // channels, and k the number of input channels times the elements of the kernel. In the masks n
    // and k (gemm_dims), bit 1 means dim 1, which is the channels.
    s.gemm.n = s.gemm.k = 1u << 1;
    s.gemm.fixed_m = s.y[2] * s.y[3];
    s.gemm.fixed_k = window_.extent * window_.extent;
    return s;
  }

  initial_values initial(int k) const {
    if (k == 1) return all_equal(0);
    return normal_deviates(
        std::sqrt(2.0 / static_cast<double>(weight_extents().elements() / out_)));
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 4,
                  "nn::convolution: the input must be images, [batch, channels, height, width].");
    using T = typename Call::value_type;
    auto const& x = c.x();
    auto const w = c.template parameter<0>();
    auto y = c.make_y();
    auto const e = extents(x, y);
    buffer<T> workspace(c.memory(), device::host::convolution_workspace(e));
    auto const convolve = [&](T const* bias) {
      device::host::convolution_forward(static_cast<T const*>(x.data()),
                                        static_cast<T const*>(w.data()), bias, e, workspace.data(),
                                        y.data());
    };
    if (bias_) convolve(c.template parameter<1>().data());
    else convolve(nullptr);
    return made(y, x);
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto const w = c.template parameter<0>();
    auto dx = c.make_dx();
    add_gradients(c, static_cast<typename Call::value_type const*>(w.data()), dx.data());
    return dx;
  }
  template <class Call>
  void weight_gradient(Call const& c) const {
    using T = typename Call::value_type;
    add_gradients(c, static_cast<T const*>(nullptr), static_cast<T*>(nullptr));
  }

 private:
  /// Adds to the gradients of the parameters. Computes dx unless `dx` is null.
  template <class Call, class T>
  void add_gradients(Call const& c, T const* w, T* dx) const {
    auto const& dy = c.dy();
    auto const& x = c.template kept<0>();
    auto const e = extents(x, dy);
    buffer<T> workspace(c.memory(), device::host::convolution_workspace(e));
    device::host::convolution_backward(static_cast<T const*>(dy.data()),
                                       static_cast<T const*>(x.data()), w, e, workspace.data(), dx,
                                       c.template gradient<0>().data());
    if (!bias_) return;
    T* const db = c.template gradient<1>().data();
    for (std::int64_t i = 0; i < dy.local_size(0) * e.outputs; ++i) {
      T const* const plane = dy.data() + i * e.y_plane();
      db[i % e.outputs] += device::host::reduce_sum<T>(
          e.y_plane(), [plane](std::int64_t k) { return plane[k]; });
    }
  }
  template <class X, class Y>
  device::host::convolution_extents extents(X const& x, Y const& y) const {
    return {local_images(x, y, window_), y.local_size(1), window_};
  }

  constexpr shape weight_extents() const { return {out_, in_, window_.extent, window_.extent}; }

  std::int64_t in_, out_;
  device::window window_;
  bool bias_, halo_;
};

}  // namespace ashlar::nn
