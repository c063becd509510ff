// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Merges all dims but the first, x [batch, a, b, ..] -> [batch, a b ..]. The elements are
// row-major, so their order stays the same.
//
// Plans may split the batch only, because a balanced split of the channels is not a balanced split
// of all features of a sample. (Dim 1 may be split, too, if all later dims have extent 1.) To keep
// channels split, leave out this layer and let the linear layer accept the separate dims. The
// linear layer's parameters have the same number of elements in both cases:
//
//   chain(.., flatten(), linear(512 * 7 * 7, 4096))      input replicated, or split by images
//   chain(.., linear<3, 1>({512, 7, 7}, {4096}))         also split by channels, rows, columns

#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/image.hpp>

namespace ashlar::nn {

/// A layer that maps x [batch, a, b, ..] to [batch, a b ..]. Its passes do not communicate.
class flatten {
 public:
  static constexpr bool runs_on_devices = true;
  template <int XRank>
  static constexpr int y_rank = 2;

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() < 2)
      throw error("nn::flatten", "the input is " + to_string(x) + " but must have 2 dims or more.");
    search::layer_spec s;
    s.name = "flatten";
    s.x = x;
    s.y = {x[0], 1};
    for (int d = 1; d < x.rank(); ++d) s.y[1] *= x[d];
    s.rows = flatten_training_rows(s.y[1] == x[1]);
    s.forward_values = s.backward_values = 2 * static_cast<double>(x.elements());
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    auto y = c.make_y();
    copy_elements(c.processor(), c.x().data(), c.x().local_elements(), y.data());
    return y;
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto dx = c.make_dx();
    copy_elements(c.processor(), c.dy().data(), c.dy().local_elements(), dx.data());
    return dx;
  }
};

}  // namespace ashlar::nn
