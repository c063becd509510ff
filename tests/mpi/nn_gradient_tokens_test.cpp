// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests gradients of the layers on sequences of tokens. With more ranks than sequences, heads or
// positions, some shards are empty.

#include <support/gradients.hpp>

#include <ashlar/nn/gpt.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("embedding with and without positions") {
  gradient_check(nn::chain(nn::embedding(7, 5), nn::linear(5, 4)), nn::token_batch{3, 4, 2}, 7, 4)
      .run(12);
  gradient_check(nn::chain(nn::embedding(7, 5, nn::no_positions), nn::gelu(), nn::linear(5, 4)),
                 nn::token_batch{3, 4}, 7, 4)
      .run(12);
}

TEST_CASE("the attention core") {
  gradient_check(nn::chain(nn::embedding(7, 4), nn::linear<1, 2>({4}, {3, 6}), nn::attention_core(),
                           nn::linear<2, 1>({3, 2}, {5})),
                 nn::token_batch{3, 5}, 7, 5)
      .run(12);
}

TEST_CASE("self-attention of one sequence, in a residual") {
  gradient_check(
      nn::chain(nn::embedding(7, 6), nn::residual(nn::self_attention(6, 3)), nn::linear(6, 5)),
      nn::token_batch{1, 4, 2}, 7, 5)
      .run(12);
}

TEST_CASE("GPT blocks with dropout, repeated") {
  gradient_check(nn::chain(nn::embedding(7, 4), nn::repeat(2, nn::gpt_block(4, 2, 0.2)),
                           nn::layer_norm(4), nn::linear(4, 7)),
                 nn::token_batch{3, 3}, 7, 7)
      .run(6);
}

TEST_CASE("an output embedding of its own") {
  gradient_check(nn::chain(nn::embedding(7, 5), nn::output_embedding(5, 4)),
                 nn::token_batch{3, 4, 2}, 7, 4)
      .run(12);
}

TEST_CASE("tied embeddings: two layers with one parameter") {
  gradient_check(nn::tied(nn::embedding(7, 5), nn::gelu(), nn::output_embedding(5, 7)),
                 nn::token_batch{3, 4, 2}, 7, 7)
      .run(16);
  gradient_check(nn::tied(nn::embedding(5, 4, nn::no_positions), nn::output_embedding(4, 5)),
                 nn::token_batch{3, 4}, 5, 5)
      .run(12);
}

TEST_CASE("a GPT with tied embeddings and dropout") {
  gradient_check(nn::tied(nn::embedding(7, 4), nn::repeat(2, nn::gpt_block(4, 2, 0.2)),
                          nn::layer_norm(4), nn::output_embedding(4, 7)),
                 nn::token_batch{3, 3}, 7, 7)
      .run(6);
}

}  // namespace ashlar_test
