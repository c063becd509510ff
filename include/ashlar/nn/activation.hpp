// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Element-wise non-linear layers, gelu and relu. They are made from functors with a value and a
// derivative (device/functor.hpp). Plans never apply them to a partial tensor, since f(a + b) is
// not f(a) + f(b).

#include <ashlar/device/functor.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar::nn {

/// A layer that computes y = f(x) for each element of x. The tensor x may have any extents. The
/// passes do not communicate.
template <class Functor>
class activation {
 public:
  static constexpr bool runs_on_devices = true;

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

  template <class Call>
  auto forward(Call const& c) const {
    auto const& x = c.x();
    auto y = c.make_y();
    map(c.processor(), device::value_of<Functor>{}, x.data(), x.local_elements(), y.data());
    return made(y, x);
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto const& x = c.template kept<0>();
    auto dx = c.make_dx();
    map(c.processor(), device::gradient_of<Functor>{}, x.data(), c.dy().data(), x.local_elements(),
        dx.data());
    return dx;
  }
};

using gelu = activation<device::gelu>;
using relu = activation<device::relu>;

}  // namespace ashlar::nn
