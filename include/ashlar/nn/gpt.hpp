// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transformer block of GPT-2, as a chain of two residuals:
//
//   x + dropout(project(attention(qkv(layer_norm(x)))))
//   x + dropout(contract(gelu(expand(layer_norm(x)))))
//
// The output of qkv has a dim of its own for heads, so that a plan can split heads and a head
// stays whole. Without dropout its two layers are left out.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/attention.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/dropout.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/residual.hpp>

namespace ashlar::nn {

/// Multi-head causal self-attention with its projections, [batch, seq, features] to the same.
/// Throws ashlar::error if the heads do not divide the features.
constexpr auto self_attention(std::int64_t features, std::int64_t heads) {
  if (heads < 1 || features % heads != 0)
    throw error("nn::self_attention", std::to_string(heads) + " heads do not divide " +
                                          std::to_string(features) +
                                          " features. Choose a number of heads that does.");
  std::int64_t const head_dim = features / heads;
  return chain(linear<1, 2>({features}, {heads, 3 * head_dim}), attention_core(),
               linear<2, 1>({heads, head_dim}, {features}));
}

/// The two-layer perceptron of a block, [.., features] to the same.
constexpr auto perceptron(std::int64_t features, std::int64_t hidden) {
  return chain(linear<1, 1>(features, hidden), gelu(), linear<1, 1>(hidden, features));
}

/// One block without dropout.
constexpr auto gpt_block(std::int64_t features, std::int64_t heads) {
  return chain(residual(chain(layer_norm(features), self_attention(features, heads))),
               residual(chain(layer_norm(features), perceptron(features, 4 * features))));
}

/// One block with dropout of probability p at the end of both branches.
constexpr auto gpt_block(std::int64_t features, std::int64_t heads, double p) {
  return chain(
      residual(chain(layer_norm(features), self_attention(features, heads), dropout(p))),
      residual(chain(layer_norm(features), perceptron(features, 4 * features), dropout(p))));
}

}  // namespace ashlar::nn
