// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transformer block of GPT-2 as a chain of two residuals, and whole nets made of such blocks:
//
//   x + dropout(project(attention(qkv(layer_norm(x)))))
//   x + dropout(contract(gelu(expand(layer_norm(x)))))
//
// Here qkv, project, expand and contract are linear layers. The output of qkv has a separate dim
// for heads, so that a plan can distribute whole heads. A block without dropout has no dropout
// layers.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/attention.hpp>
#include <ashlar/nn/dropout.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/output_embedding.hpp>
#include <ashlar/nn/repeat.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/nn/tied.hpp>

namespace ashlar::nn {

/// Returns multi-head self-attention with its projections. Maps [batch, seq, features] to the same
/// extents. Throws ashlar::error if the number of heads does not divide the number of features.
constexpr auto self_attention(std::int64_t features, std::int64_t heads,
                              attention_mask mask = attention_mask::causal) {
  return detail::projected_attention("nn::self_attention", features, heads, mask, "features");
}

/// Returns the two-layer perceptron of a block. Maps [.., features] to the same extents.
constexpr auto perceptron(std::int64_t features, std::int64_t hidden) {
  return chain(linear<1, 1>(features, hidden), gelu(), linear<1, 1>(hidden, features));
}

/// Returns one block without dropout.
constexpr auto gpt_block(std::int64_t features, std::int64_t heads) {
  return chain(residual(chain(layer_norm(features), self_attention(features, heads))),
               residual(chain(layer_norm(features), perceptron(features, 4 * features))));
}

/// Returns one block with dropout of probability p at the end of the inner net of each residual.
constexpr auto gpt_block(std::int64_t features, std::int64_t heads, double p) {
  return chain(
      residual(chain(layer_norm(features), self_attention(features, heads), dropout(p))),
      residual(chain(layer_norm(features), perceptron(features, 4 * features), dropout(p))));
}

/// The extents of a GPT. The defaults are those of the smallest GPT-2.
struct gpt_options {
  int layers = 12;
  std::int64_t features = 768;
  std::int64_t heads = 12;
  std::int64_t vocabulary = 50257;
};

/// Returns a whole GPT without dropout. Input: token_batch; output: [batch, seq, vocabulary]. The
/// last matrix is a separate parameter, whereas GPT-2 shares it with the embedding (tied_gpt).
constexpr auto gpt(gpt_options const& o) {
  return chain(embedding(o.vocabulary, o.features),
               repeat(o.layers, gpt_block(o.features, o.heads)), layer_norm(o.features),
               linear(o.features, o.vocabulary, false));
}

/// Returns a whole GPT without dropout whose last matrix is the embedding's table, as in GPT-2.
constexpr auto tied_gpt(gpt_options const& o) {
  return tied(embedding(o.vocabulary, o.features), repeat(o.layers, gpt_block(o.features, o.heads)),
              layer_norm(o.features), output_embedding(o.features, o.vocabulary));
}

/// GPT-3 (Brown et al. 2020), and the Transformers of section 5 of the AutoDDL paper:
///
///   daint_*      for 64, 128 and 256 nodes of Piz Daint; 1,024 sequences of 1,024 tokens
///   a100_*       for 32 A100 GPUs; 2,048 sequences
///   pipeline_*   in pipelines; 512 sequences on 64 nodes and 1,024 sequences on 128 nodes
namespace gpt_sizes {
inline constexpr gpt_options gpt3{96, 12288, 96};
inline constexpr gpt_options daint_64{8, 8192, 64};
inline constexpr gpt_options daint_128{20, 8192, 64};
inline constexpr gpt_options daint_256{44, 8192, 64};
inline constexpr gpt_options a100_small{24, 1024, 16};
inline constexpr gpt_options a100_large{28, 4096, 32};
inline constexpr gpt_options pipeline_wide{20, 8192, 64};
inline constexpr gpt_options pipeline_deep{36, 4096, 32};
}  // namespace gpt_sizes

}  // namespace ashlar::nn
