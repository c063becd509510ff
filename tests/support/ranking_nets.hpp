// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The networks on which tests/smpi/ranking.cpp and bench/ranking compare parallel strategies: a
// Transformer and a multilayer perceptron. `scale` multiplies their widths and batch sizes.

#include <ashlar/nn/gpt.hpp>

namespace ashlar_test {

inline auto ranking_gpt(int scale) {
  namespace nn = ashlar::nn;
  std::int64_t const d = 32 * scale;
  return nn::chain(nn::embedding(64, d), nn::repeat(2, nn::gpt_block(d, 8)), nn::layer_norm(d),
                   nn::linear(d, 64));
}
inline ashlar::nn::token_batch ranking_tokens(int scale) { return {16, 8 * scale, 1}; }

inline auto ranking_mlp(int scale) {
  namespace nn = ashlar::nn;
  std::int64_t const d = 64 * scale;
  return nn::chain(nn::linear(d, 4 * d), nn::gelu(), nn::linear(4 * d, 2 * d), nn::gelu(),
                   nn::linear(2 * d, 8 * d), nn::gelu(), nn::linear(8 * d, 64));
}
inline ashlar::nn::feature_batch ranking_features(int scale) {
  return {128 * scale, 64 * scale, 1};
}

}  // namespace ashlar_test
