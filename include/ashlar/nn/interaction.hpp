// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The dot interaction of DLRM. A sample of x [batch, n, d] consists of n vectors. The layer
// computes the dot products of all n (n - 1) / 2 pairs of these vectors. It can also copy the first
// vector to the output, before the products.
//
//   interaction()                              [batch, 26, 128] -> [batch, 325]
//   interaction(interaction::first::kept)      [batch, 27, 128] -> [batch, 128 + 351]
//
// Plans may split the samples, or the columns of the vectors, which makes the result partial.

#include <ashlar/device/host/interaction.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/recommendation.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

/// A layer that maps x [batch, n, d] to [batch, n (n - 1) / 2]. If it keeps the first vector, the
/// output has d more columns.
class interaction {
 public:
  enum class first : signed char { only_in_products, kept };

  template <int XRank>
  static constexpr int y_rank = 2;

  constexpr explicit interaction(first f = first::only_in_products) : keeps_(f == first::kept) {}

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() != 3 || x[1] < 2)
      throw error("nn::interaction", "the input is " + to_string(x) +
                                         " but must be [batch, vectors, features], with 2 vectors "
                                         "or more.");
    search::layer_spec s;
    s.name = "interaction";
    s.x = x;
    s.y = {x[0], (keeps_ ? x[2] : 0) + x[1] * (x[1] - 1) / 2};
    s.rows = interaction_training_rows();
    // The GEMM is one n x n x d product per sample, for n vectors of d features. Bit i of a mask
    // means dim i of x.
    s.gemm.m = 1u << 1;
    s.gemm.k = 1u << 2;
    s.gemm.fixed_n = x[1];
    s.forward_flops = 2 * static_cast<double>(x.elements()) * static_cast<double>(x[1]);
    s.backward_flops = s.forward_flops;
    s.forward_values = s.backward_values = static_cast<double>(s.y.elements());
    s.saved_values = static_cast<double>(x.elements());
    s.workspace_values = static_cast<double>(x[1] * x[1]);
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 3,
                  "nn::interaction: the input must be [batch, vectors, features].");
    using T = typename Call::value_type;
    auto const e = extents(c.x());
    auto y = c.make_y();
    buffer<T> workspace(c.memory(), device::host::interaction_workspace(e));
    device::host::interaction_forward(static_cast<T const*>(c.x().data()), e, workspace.data(),
                                      y.data());
    return made(y, c.x());
  }
  template <class Call>
  auto backward(Call const& c) const {
    using T = typename Call::value_type;
    auto const& x = c.template kept<0>();
    auto const e = extents(x);
    auto dx = c.make_dx();
    buffer<T> workspace(c.memory(), device::host::interaction_workspace(e));
    device::host::interaction_backward(static_cast<T const*>(c.dy().data()),
                                       static_cast<T const*>(x.data()), e, workspace.data(),
                                       dx.data());
    return dx;
  }

 private:
  template <class X>
  device::host::interaction_extents extents(X const& x) const {
    return {x.local_size(0), x.local_size(1), x.local_size(2), keeps_ ? x.extents()[2] : 0,
            x.local_box()[2].begin};
  }

  bool keeps_;
};

}  // namespace ashlar::nn
