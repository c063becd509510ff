// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layer norm over the last dim, with gain and bias:
//
//   y = (x - mean) / sqrt(variance + ε) · gain + bias
//
// Plans may distribute the rows over ranks, but never split the last dim. The parameters are
// replicated where the layer reads them.

#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

/// A layer that maps x [.., features] to y of the same extents. Its passes do not communicate,
/// because every row is whole on one rank.
class layer_norm {
 public:
  static constexpr bool runs_on_devices = true;
  using parameters = ranks<1, 1>;

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

  static initial_values initial(int k) { return all_equal(k == 0 ? 1 : 0); }

  template <class Call>
  auto forward(Call const& c) const {
    using A = typename Call::accumulated;
    auto const& x = c.x();
    auto const gain = c.template parameter<0>();
    auto const bias = c.template parameter<1>();
    auto y = c.make_y();
    std::int64_t const rows = features_ == 0 ? 0 : x.local_elements() / features_;
    kept<A> mean(c.mesh(), rows), rstd(c.mesh(), rows);
    layer_norm_forward(c.processor(), x.data(), gain.data(), bias.data(), rows, features_,
                       A(epsilon), y.data(), mean.data(), rstd.data());
    return made(y, x, std::move(mean), std::move(rstd));
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto const& mean = c.template kept<1>();
    auto const& rstd = c.template kept<2>();
    auto const gain = c.template parameter<0>();
    auto dx = c.make_dx();
    layer_norm_backward(c.processor(), c.memory(), c.dy().data(), c.template kept<0>().data(),
                        mean.data(), rstd.data(), gain.data(), mean.size(), features_, dx.data(),
                        c.template gradient<0>().data(), c.template gradient<1>().data());
    return dx;
  }

 private:
  static constexpr double epsilon = 1e-5;
  std::int64_t features_;
};

}  // namespace ashlar::nn
