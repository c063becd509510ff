// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Moves the channels of images behind the pixels, and back. Convolutions take channels first.
// Linear layers and attention take the features of a token in the last dims:
//
//   channels_last()      [batch, channels, height, width] -> [batch, height, width, channels]
//   channels_first()     [batch, height, width, channels] -> [batch, channels, height, width]
//
// Plans may split any dim, and a split of a dim becomes a split of the same dim at its new place.
// Both layers also make a partial output from a partial input.

#include <ashlar/device/host/strided_copy.hpp>
#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

/// A layer that moves the channels behind the pixels if `Last` is true, else back to dim 1. Its
/// passes do not communicate. It runs on the host only.
template <bool Last>
class channel_order {
  static constexpr char const* entity = Last ? "nn::channels_last" : "nn::channels_first";

 public:
  static constexpr int x_rank = 4;

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() != 4)
      throw error(entity, "the input is " + to_string(x) + " but must be images, " +
                              (Last ? "[batch, channels, height, width]."
                                    : "[batch, height, width, channels]."));
    search::layer_spec s;
    s.name = Last ? "channels_last" : "channels_first";
    s.x = x;
    if constexpr (Last) {
      s.y = {x[0], x[2], x[3], x[1]};
      s.rows = transpose_training_rows({0, 2, 3, 1});
    } else {
      s.y = {x[0], x[3], x[1], x[2]};
      s.rows = transpose_training_rows({0, 3, 1, 2});
    }
    s.forward_values = s.backward_values = 2 * static_cast<double>(x.elements());
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 4, "nn::channels_last and nn::channels_first take images: the "
                                     "input must have 4 dims.");
    auto y = c.make_y();
    move<Last>(c.x(), y);
    return y;
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto dx = c.make_dx();
    move<!Last>(c.dy(), dx);
    return dx;
  }

 private:
  /// Copies images. The channels of `from` are first and those of `to` are last, or the other way
  /// round if `ToLast` is false.
  template <bool ToLast, class From, class To>
  static void move(From const& from, To const& to) {
    std::int64_t const n = from.local_size(0), channels = from.local_size(ToLast ? 1 : 3),
                       pixels = ToLast ? from.local_size(2) * from.local_size(3)
                                       : from.local_size(1) * from.local_size(2);
    std::int64_t const extents[] = {n, channels, pixels};
    std::int64_t const first[] = {channels * pixels, pixels, 1};
    std::int64_t const last[] = {channels * pixels, 1, channels};
    using T = typename To::value_type;
    device::host::copy_strided(3, extents, static_cast<T const*>(from.data()),
                               ToLast ? first : last, to.data(), ToLast ? last : first);
  }
};

using channels_last = channel_order<true>;
using channels_first = channel_order<false>;

}  // namespace ashlar::nn
