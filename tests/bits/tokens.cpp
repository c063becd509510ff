// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Nets whose inputs are tokens:
//
// - GPT with and without dropout, with few tokens, and with so many tokens that matrix products are
//   computed in several blocks of rows
// - BERT
// - embeddings with and without positions
// - an attention layer alone, without the other layers of a Transformer block

#include <ashlar/nn/bert.hpp>

#include "suite.hpp"

namespace ashlar_bits {

void run_tokens(suite& all) {
  auto const gpt = [](int blocks, std::int64_t features, std::int64_t heads, std::int64_t words) {
    return nn::chain(nn::embedding(words, features),
                     nn::repeat(blocks, nn::gpt_block(features, heads, 0.1)),
                     nn::layer_norm(features), nn::linear(features, words));
  };
  all.run<double>("gpt, double", gpt(2, 6, 3, 11), nn::token_batch{3, 5, 2}, 11, 11);
  all.run<float>("gpt, float", gpt(2, 6, 3, 11), nn::token_batch{3, 5, 2}, 11, 11);
  all.run<float>("gpt of 256 tokens, float", gpt(1, 48, 4, 64), nn::token_batch{8, 32}, 64, 64);
  all.run<double>("gpt without dropout", nn::gpt({1, 6, 3, 11}), nn::token_batch{5, 4, 2}, 11, 11);
  all.run<double>("bert", nn::bert({2, 6, 3, 9}), nn::token_batch{3, 5}, 9, 9);

  all.run<double>("embedding without positions",
                  nn::chain(nn::embedding(7, 5, nn::no_positions), nn::gelu(), nn::linear(5, 4)),
                  nn::token_batch{3, 4}, 7, 4);
  all.run<double>("attention core",
                  nn::chain(nn::embedding(7, 4), nn::linear<1, 2>({4}, {3, 6}),
                            nn::attention_core(), nn::linear<2, 1>({3, 2}, {5})),
                  nn::token_batch{3, 5}, 7, 5);
  all.run<double>("linear on several dims of tokens",
                  nn::chain(nn::embedding(7, 4), nn::residual(nn::linear(4, 4)), nn::layer_norm(4),
                            nn::linear<1, 2>({4}, {2, 3}), nn::gelu(),
                            nn::linear<2, 1>({2, 3}, {7})),
                  nn::token_batch{3, 4, 2}, 7, 7);
}

}  // namespace ashlar_bits
