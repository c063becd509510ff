// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The dot interaction of DLRM: x [batch, n, d] -> the products of all n (n - 1) / 2 pairs of a
// sample's vectors, after the first vector itself if it is kept.
//
//   interaction()                              [batch, 26, 128] -> [batch, 325]
//   interaction(interaction::first::kept)      [batch, 27, 128] -> [batch, 128 + 351]
//
// Rows of the plan: samples, or columns of the vectors (the result is partial).

#include <ashlar/device/host/interaction.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/recommendation.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

template <class T, class At>
class placed_interaction {
  using input = tensor_for<T, 3, decltype(std::declval<At>().x())>;

 public:
  placed_interaction(At const& at, shape const& y, bool keeps)
      : at_(at), y_extents_(y), keeps_(keeps) {}

  auto forward(input const& x, pass const& p) {
    auto y = empty<T, 2>(x.mesh(), y_extents_, at_.y());
    auto const e = extents(x);
    buffer<T> workspace(x.mesh().memory(), device::host::interaction_workspace(e));
    device::host::interaction_forward(static_cast<T const*>(x.data()), e, workspace.data(),
                                      y.data());
    if (p.saves()) x_ = x;
    return y;
  }
  template <distributed DY>
  auto backward(DY const& dy) {
    auto dx = empty<T, 3>(dy.mesh(), x_.extents(), at_.dx());
    auto const e = extents(x_);
    buffer<T> workspace(dy.mesh().memory(), device::host::interaction_workspace(e));
    device::host::interaction_backward(static_cast<T const*>(dy.data()),
                                       static_cast<T const*>(x_.data()), e, workspace.data(),
                                       dx.data());
    x_ = {};
    return dx;
  }
  template <class F>
  void for_each_parameter(F) {}

 private:
  device::host::interaction_extents extents(input const& x) const {
    return {x.local_size(0), x.local_size(1), x.local_size(2), keeps_ ? x.extents()[2] : 0,
            x.local_box()[2].begin};
  }

  At at_;
  shape y_extents_;
  bool keeps_;
  input x_;
};

/// x [batch, n, d] -> [batch, n (n - 1) / 2], or d more if the first vector is kept.
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
    s.gemm.m = 1u << 1;  // vectors x vectors x features, one for each sample
    s.gemm.k = 1u << 2;
    s.gemm.fixed_n = x[1];
    s.forward_flops = 2 * static_cast<double>(x.elements()) * static_cast<double>(x[1]);
    s.backward_flops = s.forward_flops;
    s.forward_values = s.backward_values = static_cast<double>(s.y.elements());
    s.saved_values = static_cast<double>(x.elements());
    s.workspace_values = static_cast<double>(x[1] * x[1]);
    return s;
  }

  template <class T, int XRank, class At>
  auto place(mesh const&, shape const& x, At const& at, stream_counter&) const {
    static_assert(XRank == 3, "nn::interaction: the input must be [batch, vectors, features].");
    return placed_interaction<T, At>(at, spec(x).y, keeps_);
  }

 private:
  bool keeps_;
};

}  // namespace ashlar::nn
