// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// All dims but the first as one: x [batch, a, b, ..] -> [batch, a b ..]. Row-major, so nothing moves.
//
// Split by the batch only: a balanced split of channels is none of their pixels put in one row. To
// keep channels split, let the linear layer take the dims itself, with the same parameters:
//
//   chain(.., flatten(), linear(512 * 7 * 7, 4096))      whole, or split by images
//   chain(.., linear<3, 1>({512, 7, 7}, {4096}))         besides split by channels, rows or columns

#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/image.hpp>

namespace ashlar::nn {

template <class T, int XRank, class At>
class placed_flatten {
  using input = input_of<T, XRank, At>;

 public:
  placed_flatten(At const& at, shape const& x, shape const& y)
      : at_(at), x_extents_(x), y_extents_(y) {}

  auto forward(input const& x, pass const&) {
    auto y = empty<T, 2>(x.mesh(), y_extents_, at_.y());
    copy_elements(x.mesh().processor(), x.data(), x.local_elements(), y.data());
    return y;
  }
  template <distributed DY>
  auto backward(DY const& dy) {
    auto dx = empty<T, XRank>(dy.mesh(), x_extents_, at_.dx());
    copy_elements(dy.mesh().processor(), dy.data(), dy.local_elements(), dx.data());
    return dx;
  }
  template <class F>
  void for_each_parameter(F) {}

 private:
  At at_;
  shape x_extents_, y_extents_;
};

/// x [batch, a, b, ..] -> [batch, a b ..]. Communicates nothing of its own.
class flatten {
 public:
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

  template <class T, int XRank, class At, class Mesh>
  auto place(Mesh const&, shape const& x, At const& at, stream_counter&) const {
    return placed_flatten<T, XRank, At>(at, x, spec(x).y);
  }
};

}  // namespace ashlar::nn
