// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The encoder of BERT (Devlin et al. 2019) with the head of its masked language model. The encoder
// has attention over the whole sequence, layer norm after each residual, and no dropout.
//
//   embedding, layer norm, blocks, then linear, gelu, layer norm, linear to the vocabulary
//
// Compared with the published BERT-large, this net lacks the parts that need a second input or a
// second loss: the two segment vectors, the pooler and the next-sentence classifier. Its last
// matrix is a separate parameter, whereas BERT shares this matrix with the embedding. The net has
// 366,426,938 parameters at 512 positions; the published net with the heads of both losses has
// 336,226,108.

#include <ashlar/nn/gpt.hpp>

namespace ashlar::nn {

/// The extents of the encoder. The defaults are those of BERT-large.
struct bert_options {
  int layers = 24;
  std::int64_t features = 1024;
  std::int64_t heads = 16;
  std::int64_t vocabulary = 30522;
};

/// Returns a transformer block with layer norm after each residual.
constexpr auto bert_block(std::int64_t features, std::int64_t heads) {
  return chain(residual(self_attention(features, heads, attention_mask::none)),
               layer_norm(features), residual(perceptron(features, 4 * features)),
               layer_norm(features));
}

/// Returns the whole net. Input: token_batch; output: [batch, seq, vocabulary]. A target < 0 marks
/// a token that is not masked; such a target adds nothing to the loss.
constexpr auto bert(bert_options const& o) {
  return chain(embedding(o.vocabulary, o.features), layer_norm(o.features),
               repeat(o.layers, bert_block(o.features, o.heads)), linear(o.features, o.features),
               gelu(), layer_norm(o.features), linear(o.features, o.vocabulary));
}

/// Returns BERT-large, with 24 blocks of 1024 features and 16 heads. It maps [batch, seq] to
/// [batch, seq, 30522].
constexpr auto bert_large() { return bert({}); }

}  // namespace ashlar::nn
