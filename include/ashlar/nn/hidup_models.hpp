// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The nets with experts in the evaluation of HiDup (Zhang et al., SoCC 2022, section 6.1): 8 blocks
// of BERT-Base, with 768 features and 12 heads. In every second block, a mixture of experts takes
// the place of the feed-forward net, and each expert is a feed-forward net. With n GPUs there are n
// experts for text and 2 n experts for images.
//
//   bert_moe   ids of a vocabulary of 33,278 words; the last matrix is not shared with the
//              embedding. 89 + 19 n million parameters
//   vit_moe    the patches of images; 38 + 38 n million parameters
//
// SGMoE nets choose two experts for each token (Shazeer et al. 2017), and Switch nets choose one
// (Fedus et al. 2021). The paper gives neither the vocabulary nor the patches. The vocabulary
// follows from the paper's numbers of parameters. We chose patches of 4 x 4 pixels of three
// colours. Our net classifies each patch, whereas a vision transformer classifies whole images;
// only the work of the last layer differs.

#include <ashlar/nn/moe.hpp>

namespace ashlar::nn {
namespace detail {

/// Returns two blocks with layer norm after each residual. The second block has experts.
constexpr auto hidup_blocks(moe_options const& o) {
  constexpr std::int64_t features = 768, heads = 12;
  return chain(residual(self_attention(features, heads, attention_mask::none)),
               layer_norm(features), residual(perceptron(features, 4 * features)),
               layer_norm(features),
               residual(self_attention(features, heads, attention_mask::none)),
               layer_norm(features), residual(moe(features, o)), layer_norm(features));
}

}  // namespace detail

/// Returns the net for text. Input: token_batch; output: [batch, seq, 33278].
constexpr auto bert_moe(moe_options const& o) {
  return chain(embedding(33278, 768), layer_norm(768), repeat(4, detail::hidup_blocks(o)),
               linear(768, 33278, false));
}

/// Returns the net for images. Input: [batch, patches, 48]; output: [batch, patches, 10].
constexpr auto vit_moe(moe_options const& o) {
  return chain(linear(48, 768), repeat(4, detail::hidup_blocks(o)), linear(768, 10));
}

}  // namespace ashlar::nn
