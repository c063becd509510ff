// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The mean squared error at the end of a net that predicts numbers: the mean over all elements of
// (x - target)². The targets have the extents of the net's output and the type accumulation_t<T>.
//
//   nn::chain(nn::linear(8, 64), nn::gelu(), nn::linear(64, 2), nn::mean_squared_error())

#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

/// A loss for x [..] and targets of the same extents. Its passes do not communicate. It runs on the
/// host only.
class mean_squared_error {
 public:
  static constexpr bool is_loss = true;
  template <class T>
  using target = accumulation_t<T>;
  template <int XRank>
  static constexpr int target_rank = XRank;

  static constexpr shape target_extents(shape const& x) { return x; }

  constexpr search::layer_spec spec(shape const& x) const {
    search::layer_spec s;
    s.name = "mean_squared";
    s.x = x;
    s.y = {};
    s.rows = summed_loss_training_rows(x.rank());
    s.forward_values = 2 * static_cast<double>(x.elements());
    s.backward_values = 3 * static_cast<double>(x.elements());
    s.saved_values = 2 * static_cast<double>(x.elements());
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    using T = typename Call::value_type;
    auto const& x = c.x();
    auto const targets = c.template targets<target<T>, Call::x_rank>();
    if (is_representative(as_value(c.at().y()), c.mesh().coordinate())) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.local_elements(); ++i) {
        double const apart = static_cast<double>(x.data()[i]) -
                             static_cast<double>(targets.data()[i]);
        sum += apart * apart;
      }
      *c.total() += sum;
    }
    return made(no_output{}, x, targets, c.scale());
  }
  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    auto const& x = c.template kept<0>();
    auto const& targets = c.template kept<1>();
    double const twice = 2 * c.template kept<2>();
    auto dx = c.make_dx();
    for (std::int64_t i = 0; i < x.local_elements(); ++i)
      dx.data()[i] = static_cast<T>(
          twice * (static_cast<double>(x.data()[i]) - static_cast<double>(targets.data()[i])));
    return dx;
  }
};

}  // namespace ashlar::nn
