// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The bottom MLP of DLRM, described for the search only:
//
//   x [batch, n, d] -> y [batch, 1 + n, d]
//
// Each sample gets one more vector, at index 0. An MLP computes this vector from the sample's
// numeric features. These features come with the batch and are on every rank, so they cost no
// communication.
//
//   bottom_mlp(13, {512, 256, 128})      weights [14, 512], [513, 256], [257, 128]
//
// The last row of each weight is the bias. A layer of a plan has at most four parameters. Since
// biases are not separate parameters here, up to four linear layers form one layer of a plan. Plans
// may split the samples, or the columns of the vectors together with the columns of the last weight
// (signature/recommendation.hpp).
//
// The numeric features would be a second input of the net, which a model does not have. Therefore
// an attempt to place this layer is a compile error.

#include <initializer_list>

#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/recommendation.hpp>

namespace ashlar::nn {

/// A layer for the search only, which maps x [batch, n, d] to [batch, 1 + n, d].
class bottom_mlp {
 public:
  using parameters = ranks<2, 2, 2, 2>;
  static_assert(parameters::count == max_parameters);
  template <int XRank>
  static constexpr int y_rank = XRank;

  /// `widths` has the number of output features of each linear layer. The last of these numbers is
  /// the length of the vectors. Throws ashlar::error unless there are 1 to max_parameters layers
  /// with 1 or more features each.
  constexpr bottom_mlp(std::int64_t features, std::initializer_list<std::int64_t> widths) {
    if (widths.size() < 1 || widths.size() > std::size_t{max_parameters})
      throw error("nn::bottom_mlp", "it has " + std::to_string(widths.size()) +
                                        " layers, but must have 1 to " +
                                        std::to_string(max_parameters) + ".");
    // Integers up to this one are exact in double.
    constexpr std::int64_t most = std::int64_t{1} << 53;
    for (auto const n : widths) {
      if (features < 1 || n < 1 || features > most / n - 1)
        throw error("nn::bottom_mlp",
                    "a layer from " + std::to_string(features) + " to " + std::to_string(n) +
                        " features must have 1 or more of both, and at most 2^53 weights.");
      weights_.push_back({features + 1, n});
      features = n;
    }
  }

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() != 3 || x[2] != weights_[weights_.size() - 1][1])
      throw error("nn::bottom_mlp",
                  "the input is " + to_string(x) + " but must be [batch, vectors, " +
                      std::to_string(weights_[weights_.size() - 1][1]) + " features].");
    search::layer_spec s;
    s.name = "bottom_mlp";
    s.x = x;
    s.y = {x[0], 1 + x[1], x[2]};
    s.rows = bottom_mlp_training_rows(weights_.size());
    // The cost model gets the GEMM of the largest linear layer. Its m is the number of samples (bit
    // 0 means dim 0 of x).
    s.gemm.m = 1u << 0;
    double inner = 0;  // the elements of the inputs of all layers
    for (auto const& w : weights_) {
      s.parameters.push_back({"weight", w, true});
      if (w.elements() > s.gemm.fixed_k * s.gemm.fixed_n) {
        s.gemm.fixed_k = w[0];
        s.gemm.fixed_n = w[1];
      }
      s.forward_flops += 2 * static_cast<double>(x[0] * w.elements());
      inner += static_cast<double>(x[0] * w[0]);
    }
    s.backward_flops = 2 * s.forward_flops;
    s.forward_values = s.backward_values = 2 * inner + 2 * static_cast<double>(s.y.elements());
    s.saved_values = inner;
    return s;
  }

  static initial_values initial(int) { return all_equal(0); }
  template <class Call>
  auto forward(Call const&) const {
    static_assert(
        Call::x_rank < 0,
        "nn::bottom_mlp: this layer is only for the search, because a model has no second "
        "input. Place a net without it, such as nn::dlrm.");
  }

 private:
  inplace_vector<shape, max_parameters> weights_;
};

}  // namespace ashlar::nn
