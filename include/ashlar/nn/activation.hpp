// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise non-linear layers: gelu and relu, from functors with value and derivative
// (device/functor.hpp). A non-linear map never acts on a partial tensor.

#include <ashlar/device/functor.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar::nn {

template <class T, int XRank, class Functor, class At>
class placed_activation {
  using input = input_of<T, XRank, At>;

 public:
  explicit placed_activation(At const& at) : at_(at) {}

  auto forward(input const& x, pass const& p) {
    auto y = empty<T, XRank>(x.mesh(), x.extents(), at_.y());
    map(x.mesh().processor(), device::value_of<Functor>{}, x.data(), x.local_elements(), y.data());
    if (p.saves()) x_ = x;
    return y;
  }
  template <distributed DY>
  auto backward(DY const& dy) {
    auto dx = empty<T, XRank>(dy.mesh(), dy.extents(), at_.dx());
    map(dy.mesh().processor(), device::gradient_of<Functor>{}, x_.data(), dy.data(),
        x_.local_elements(), dx.data());
    x_ = {};
    return dx;
  }
  template <class F>
  void for_each_parameter(F) {}

 private:
  At at_;
  input x_;
};

/// x of any extents -> y of the same, f(x) for each element. Communicates nothing of its own.
template <class Functor>
class activation {
 public:
  template <int XRank>
  static constexpr int y_rank = XRank;

  constexpr search::layer_spec spec(shape const& x) const {
    search::layer_spec s;
    s.name = std::is_same_v<Functor, device::gelu>   ? "gelu"
             : std::is_same_v<Functor, device::relu> ? "relu"
                                                     : "activation";
    s.x = s.y = x;
    s.rows = nonlinear_training_rows(ashlar::detail::letters(x.rank()));
    s.forward_values = 2 * static_cast<double>(x.elements());
    s.backward_values = 3 * static_cast<double>(x.elements());
    s.saved_values = static_cast<double>(x.elements());
    return s;
  }

  template <class T, int XRank, class At, class Mesh>
  auto place(Mesh const&, shape const&, At const& at, stream_counter&) const {
    return placed_activation<T, XRank, Functor, At>(at);
  }
};

using gelu = activation<device::gelu>;
using relu = activation<device::relu>;

}  // namespace ashlar::nn
