// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Group norm of images (Wu and He 2018). The channels form groups of equal size. Within an image,
// all pixels of a group are normalized together. Each channel has a gain and a bias:
//
//   y = (x - mean) / sqrt(variance + ε) · gain + bias
//
//   group_norm(64, 32)        32 groups of two channels
//   group_norm(64, 1)         all channels of an image together
//   group_norm(64, 64)        each channel by itself (instance norm)
//
// Plans may split the images. They may split the channels over a number of ranks that divides the
// number of groups, so that every rank has whole groups (step::block_spec). A split that cuts
// groups or the height of images would need sums over the ranks in both passes, and is not offered.

#include <ashlar/device/host/group_norm.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/window.hpp>
#include <ashlar/signature/image.hpp>

namespace ashlar::nn {

/// A layer that maps x [batch, channels, height, width] to y of the same extents. Its passes do not
/// communicate. It runs on the host only.
class group_norm {
 public:
  static constexpr int x_rank = 4;
  using parameters = ranks<1, 1>;

  /// Throws ashlar::error unless both are positive and `groups` divides `channels`.
  constexpr group_norm(std::int64_t channels, std::int64_t groups)
      : channels_(channels), groups_(groups) {
    if (channels < 1 || groups < 1 || channels % groups != 0)
      throw error("nn::group_norm", std::to_string(groups) + " groups do not divide " +
                                        std::to_string(channels) +
                                        " channels. Choose a number of groups that does.");
  }

  constexpr search::layer_spec spec(shape const& x) const {
    detail::check_images("nn::group_norm", x, {1, 1, 0});
    if (x[1] != channels_)
      throw error("nn::group_norm", "the input is " + to_string(x) + " but the layer takes " +
                                        std::to_string(channels_) + " channels in dim 1.");
    search::layer_spec s;
    s.name = "group_norm";
    s.x = s.y = x;
    s.parameters = {{"gain", {channels_}, true}, {"bias", {channels_}, false}};
    s.rows = group_norm_training_rows();
    if (groups_ != channels_) s.blocks = {1, groups_};
    s.forward_values = 3 * static_cast<double>(x.elements());
    s.backward_values = 5 * static_cast<double>(x.elements());
    s.saved_values = static_cast<double>(x.elements() + 2 * x[0] * groups_);
    return s;
  }

  static initial_values initial(int k) { return all_equal(k == 0 ? 1 : 0); }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 4,
                  "nn::group_norm: the input must be images, [batch, channels, height, width].");
    using T = typename Call::value_type;
    auto const& x = c.x();
    auto const gain = c.template parameter<0>();
    auto const bias = c.template parameter<1>();
    auto y = c.make_y();
    auto const e = extents(x);
    kept<T> mean(c.mesh(), e.groups()), rstd(c.mesh(), e.groups());
    device::host::group_norm_forward(
        static_cast<T const*>(x.data()), static_cast<T const*>(gain.data()),
        static_cast<T const*>(bias.data()), e, T(epsilon), y.data(), mean.data(), rstd.data());
    return made(y, x, std::move(mean), std::move(rstd));
  }
  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    auto const& x = c.template kept<0>();
    auto const gain = c.template parameter<0>();
    auto dx = c.make_dx();
    device::host::group_norm_backward(
        static_cast<T const*>(c.dy().data()), static_cast<T const*>(x.data()),
        static_cast<T const*>(c.template kept<1>().data()),
        static_cast<T const*>(c.template kept<2>().data()), static_cast<T const*>(gain.data()),
        extents(x), dx.data(), c.template gradient<0>().data(), c.template gradient<1>().data());
    return dx;
  }

 private:
  template <class X>
  device::host::group_extents extents(X const& x) const {
    return {local_images(x), channels_ / groups_};
  }

  static constexpr double epsilon = 1e-5;
  std::int64_t channels_, groups_;
};

}  // namespace ashlar::nn
