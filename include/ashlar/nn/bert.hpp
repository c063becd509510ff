// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The encoder of BERT (Devlin et al. 2019) with the head of its masked language model: attention over
// the whole sequence, layer norm after each sum, no dropout.
//
//   embedding, layer norm, blocks, then linear, gelu, layer norm, linear to the vocabulary
//
// Of the published BERT-large it lacks what needs a second input or a second loss: the two segment
// vectors, the pooler and the next-sentence classifier; and its last matrix is its own where
// BERT's is the embedding's: 366,426,938 parameters at 512 positions, where the published ones with
// both heads are 336,226,108.

#include <ashlar/nn/gpt.hpp>

namespace ashlar::nn {

/// The extents of the encoder; by default those of BERT-large.
struct bert_options {
  int layers = 24;
  std::int64_t features = 1024;
  std::int64_t heads = 16;
  std::int64_t vocabulary = 30522;
};

/// A transformer block with layer norm after each residual.
constexpr auto bert_block(std::int64_t features, std::int64_t heads) {
  return chain(residual(self_attention(features, heads, attention_mask::none)),
               layer_norm(features), residual(perceptron(features, 4 * features)),
               layer_norm(features));
}

/// Input: token_batch; output: [batch, seq, vocabulary]. Targets < 0 mark the tokens that are not
/// masked, as in every loss of ashlar.
constexpr auto bert(bert_options const& o) {
  return chain(embedding(o.vocabulary, o.features), layer_norm(o.features),
               repeat(o.layers, bert_block(o.features, o.heads)), linear(o.features, o.features),
               gelu(), layer_norm(o.features), linear(o.features, o.vocabulary));
}

/// BERT-large: 24 blocks of 1024 features and 16 heads; [batch, seq] -> [batch, seq, 30522].
constexpr auto bert_large() { return bert({}); }

}  // namespace ashlar::nn
