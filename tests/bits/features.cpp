// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Nets whose inputs are rows of numbers: perceptrons with and without bias, residuals, layer norm,
// dropout, repeats, segments, linear layers between several dims, and a net on a single row.

#include "suite.hpp"

namespace ashlar_bits {

void run_features(suite& all) {
  auto const perceptron = nn::chain(nn::linear(6, 10), nn::gelu(), nn::dropout(0.2),
                                    nn::residual(nn::linear(10, 10)), nn::layer_norm(10),
                                    nn::relu(), nn::linear(10, 7, false));
  all.run<double>("perceptron, double", perceptron, nn::feature_batch{5, 6, 2}, 0, 7);
  all.run<float>("perceptron, float", perceptron, nn::feature_batch{5, 6, 2}, 0, 7);
  auto const wide = nn::chain(nn::linear(24, 48), nn::gelu(), nn::dropout(0.2),
                              nn::residual(nn::linear(48, 48)), nn::layer_norm(48), nn::relu(),
                              nn::linear(48, 16, false));
  all.run<float>("perceptron of 300 rows, float", wide, nn::feature_batch{300, 24}, 0, 16);

  all.run<double>("softmax regression", nn::chain(nn::linear(3, 4)), nn::feature_batch{5, 3}, 0, 4);
  all.run<double>("one row", nn::chain(nn::linear(1, 2), nn::gelu(), nn::linear(2, 1)),
                  nn::feature_batch{1, 1, 2}, 0, 1);
  all.run<double>("linear on several dims",
                  nn::chain(nn::linear<1, 2>({4}, {3, 4}), nn::linear<2, 2>({3, 4}, {2, 3}, false),
                            nn::gelu(), nn::linear<2, 1>({2, 3}, {5})),
                  nn::feature_batch{5, 4}, 0, 5);
  all.run<double>("layer norm in a residual",
                  nn::chain(nn::linear(4, 6),
                            nn::residual(nn::chain(nn::layer_norm(6), nn::linear(6, 6))),
                            nn::layer_norm(6)),
                  nn::feature_batch{5, 4}, 0, 6);

  auto const block = nn::residual(
      nn::chain(nn::linear(5, 5), nn::residual(nn::gelu()), nn::dropout(0.2)));
  all.run<double>("repeats of both forms",
                  nn::chain(nn::repeat(2, block), nn::repeat<2>(nn::linear(5, 5))),
                  nn::feature_batch{3, 5}, 0, 5);
  all.run<double>("segment first",
                  nn::chain(nn::segment(nn::chain(nn::linear(4, 4), nn::gelu(), nn::dropout(0.2))),
                            nn::linear(4, 4), nn::linear(4, 5)),
                  nn::feature_batch{5, 4, 2}, 0, 5);
  all.run<double>("repeat of dropout and linear",
                  nn::chain(nn::linear(6, 7),
                            nn::repeat<2>(nn::chain(nn::dropout(0.3), nn::linear(7, 7))),
                            nn::linear(7, 5)),
                  nn::feature_batch{5, 6, 2}, 0, 5);
}

}  // namespace ashlar_bits
