// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Two-dimensional convolution of images: x [batch, in, height, width] -> y [batch, out, h', w'].
//
//   convolution(3, 64, 3, {.padding = 1})              3 x 3, one pixel of zeros around
//   convolution(3, 64, 11, {.stride = 4, .padding = 2, .bias = false})
//
// Channels come before pixels (NCHW): a convolution is then weight · im2col(x) without transposing,
// and a split of channels is a split into whole planes. weight is [out, in, kernel, kernel].
// Rows of the plan: images, output channels, input channels (signature/image.hpp); with `.halo`
// rows of pixels too, to see what they would cost.
// Initialization: normal deviates of variance 2 / (in kernel²), after He et al. 2015; bias zero.

#include <algorithm>
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
  std::int64_t padding = 0;  ///< zeros on every side
  bool bias = true;
  bool halo = false;  ///< plans may split the rows of images; such plans do not run yet
};

template <class T, class At>
class placed_convolution {
  using input = tensor_for<T, 4, decltype(std::declval<At>().x())>;
  using weight = parameter_of<T, 4, 0, At>;
  using bias_type = parameter_of<T, 1, 1, At>;

 public:
  placed_convolution(At const& at, shape const& y, device::window const& w, weight kernel,
                     std::optional<bias_type> bias)
      : at_(at), y_extents_(y), window_(w), weight_(std::move(kernel)), bias_(std::move(bias)) {}

  auto forward(input const& x, pass const& p) {
    auto const w = weight_.use();
    auto y = empty<T, 4>(x.mesh(), y_extents_, at_.y());
    auto const e = extents(x, y.local_size(1));
    if (bias_) {
      auto const b = bias_->use();
      for (std::int64_t i = 0; i < y.local_size(0) * e.outputs; ++i)
        std::fill_n(y.data() + i * e.y_plane(), e.y_plane(), b.data()[i % e.outputs]);
    }
    buffer<T> workspace(x.mesh().memory(), device::host::convolution_workspace(e));
    device::host::convolution_forward(static_cast<T const*>(x.data()),
                                      static_cast<T const*>(w.data()), e, T(bias_ ? 1 : 0),
                                      workspace.data(), y.data());
    if (p.saves()) x_ = x;
    return y;
  }

  template <distributed DY>
  auto backward(DY const& dy) {
    auto const w = weight_.use();
    auto dx = empty<T, 4>(dy.mesh(), x_.extents(), at_.dx());
    add_gradients(dy, w.data(), dx.data());
    return dx;
  }
  template <distributed DY>
  void backward_without_dx(DY const& dy) {
    add_gradients(dy, nullptr, nullptr);
  }

  template <class F>
  void for_each_parameter(F f) {
    f(weight_);
    if (bias_) f(*bias_);
  }

 private:
  /// Adds to the parameters' gradients; makes dx unless it is null.
  template <distributed DY>
  void add_gradients(DY const& dy, T const* w, T* dx) {
    auto const e = extents(x_, dy.local_size(1));
    buffer<T> workspace(dy.mesh().memory(), device::host::convolution_workspace(e));
    device::host::convolution_backward(static_cast<T const*>(dy.data()),
                                       static_cast<T const*>(x_.data()), w, e, workspace.data(), dx,
                                       weight_.pending().data());
    if (bias_) {
      T* const db = bias_->pending().data();
      for (std::int64_t i = 0; i < dy.local_size(0) * e.outputs; ++i) {
        T const* const plane = dy.data() + i * e.y_plane();
        db[i % e.outputs] += device::host::reduce_sum<T>(
            e.y_plane(), [plane](std::int64_t k) { return plane[k]; });
      }
    }
    x_ = {};
  }

  device::host::convolution_extents extents(input const& x, std::int64_t outputs) const {
    return {local_images(x), outputs, window_};
  }

  At at_;
  shape y_extents_;
  device::window window_;
  weight weight_;
  std::optional<bias_type> bias_;
  input x_;
};

/// x [batch, in, height, width] -> y [batch, out, h', w'].
class convolution {
 public:
  static constexpr int x_rank = 4;
  template <int XRank>
  static constexpr int y_rank = XRank;

  /// Throws ashlar::error unless channels, kernel and stride are positive and padding is not negative.
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
    // The matrix of im2col is written, and its gradient read, besides x and y.
    s.forward_values = pixels * window + static_cast<double>(x.elements() + s.y.elements());
    s.backward_values = 2 * pixels * window + static_cast<double>(2 * x.elements());
    // The gradient of the weight takes one product, and no col2im.
    s.backward = search::backward_form::separable;
    s.gradient_flops = s.backward_flops / 2;
    s.gradient_values = s.backward_values / 2;
    s.saved_values = static_cast<double>(x.elements());
    // A strip of im2col, whatever channels are here.
    auto const row = window * static_cast<double>(s.y[3]);
    s.workspace_values = std::min(row * static_cast<double>(s.y[2]),
                                  std::max(row, double(device::host::convolution_panel)));
    s.gemm.n = s.gemm.k =
        1u << 1;  // output channels x pixels x window of the input, for each image
    s.gemm.fixed_m = s.y[2] * s.y[3];
    s.gemm.fixed_k = window_.extent * window_.extent;
    return s;
  }

  template <class T, int XRank, class At>
  auto place(mesh const& m, shape const& x, At const& at, stream_counter& streams) const {
    static_assert(XRank == 4,
                  "nn::convolution: the input must be images, [batch, channels, height, width].");
    double const deviation = std::sqrt(2.0 /
                                       static_cast<double>(weight_extents().elements() / out_));
    auto w = random_parameter<T, 4, 0>("weight", m, weight_extents(), at, deviation, streams.seed,
                                       streams.next++);
    std::optional<parameter_of<T, 1, 1, At>> b;
    if (bias_) b.emplace(constant_parameter<T, 1, 1>("bias", m, shape{out_}, at, T(0)));
    return placed_convolution<T, At>(at, spec(x).y, window_, std::move(w), std::move(b));
  }

 private:
  constexpr shape weight_extents() const { return {out_, in_, window_.extent, window_.extent}; }

  std::int64_t in_, out_;
  device::window window_;
  bool bias_, halo_;
};

}  // namespace ashlar::nn
