// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layer norm over the last dim, with gain and bias: y = (x - mean) / sqrt(variance + ε) · gain + bias.
// The last dim must be whole on every rank; rows may be split. Parameters are replicated in use.

#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

template <class T, int XRank, class At>
class placed_layer_norm {
  using input = input_of<T, XRank, At>;
  using gain_type = parameter_of<T, 1, 0, At>;
  using bias_type = parameter_of<T, 1, 1, At>;
  using A = accumulation_t<T>;
  static constexpr double epsilon = 1e-5;

 public:
  placed_layer_norm(At const& at, gain_type gain, bias_type bias)
      : at_(at), gain_(std::move(gain)), bias_(std::move(bias)) {}

  auto forward(input const& x, pass const& p) {
    auto const gain = gain_.use();
    auto const bias = bias_.use();
    auto y = empty<T, XRank>(x.mesh(), x.extents(), at_.y());
    std::int64_t const columns = x.extents()[XRank - 1];
    std::int64_t const rows = columns == 0 ? 0 : x.local_elements() / columns;
    kept<A> mean(x.mesh(), rows), rstd(x.mesh(), rows);
    layer_norm_forward(x.mesh().processor(), x.data(), gain.data(), bias.data(), rows, columns,
                       A(epsilon), y.data(), mean.data(), rstd.data());
    if (p.saves()) {
      x_ = x;
      mean_ = std::move(mean);
      rstd_ = std::move(rstd);
    }
    return y;
  }

  template <distributed DY>
  auto backward(DY const& dy) {
    auto const gain = gain_.use();
    auto dx = empty<T, XRank>(dy.mesh(), dy.extents(), at_.dx());
    layer_norm_backward(dy.mesh().processor(), dy.mesh().memory(), dy.data(), x_.data(),
                        mean_.data(), rstd_.data(), gain.data(), mean_.size(),
                        dy.extents()[XRank - 1], dx.data(), gain_.pending().data(),
                        bias_.pending().data());
    x_ = {};
    mean_ = {};
    rstd_ = {};
    return dx;
  }

  template <class F>
  void for_each_parameter(F f) {
    f(gain_);
    f(bias_);
  }

 private:
  At at_;
  gain_type gain_;
  bias_type bias_;
  input x_;
  kept<A> mean_, rstd_;
};

/// x [.., features] -> y of the same extents. Communicates nothing of its own: rows are whole.
class layer_norm {
 public:
  template <int XRank>
  static constexpr int y_rank = XRank;

  constexpr explicit layer_norm(std::int64_t features) : features_(features) {}

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() < 2 || x[x.rank() - 1] != features_)
      throw error("nn::layer_norm", "the input is " + to_string(x) + " but the layer takes " +
                                        std::to_string(features_) + " in its last dim.");
    search::layer_spec s;
    s.name = "layer_norm";
    s.x = s.y = x;
    s.parameters = {{"gain", {features_}, true}, {"bias", {features_}, false}};
    s.rows = layer_norm_training_rows(x.rank());
    s.forward_values = 3 * static_cast<double>(x.elements());
    s.backward_values = 5 * static_cast<double>(x.elements());
    s.saved_values = static_cast<double>(x.elements());
    return s;
  }

  template <class T, int XRank, class At, class Mesh>
  auto place(Mesh const& m, shape const&, At const& at, stream_counter&) const {
    return placed_layer_norm<T, XRank, At>(
        at, constant_parameter<T, 1, 0>("gain", m, {features_}, at, T(1)),
        constant_parameter<T, 1, 1>("bias", m, {features_}, at, T(0)));
  }

 private:
  std::int64_t features_;
};

}  // namespace ashlar::nn
