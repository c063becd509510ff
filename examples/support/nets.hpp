// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The GPTs that train_gpt trains, from ids to logits. `plan --as-trained` plans the same nets, so
// that train_gpt can read the plan files. They differ from the nets of nn/gpt.hpp and nn/moe.hpp in
// two ways. Each residual ends with a dropout layer, even if the probability is 0. And the last
// matrix has a bias, unless it is tied to the embedding's table.

#pragma once

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/moe.hpp>

namespace example {

inline auto trained_gpt(ashlar::nn::gpt_options const& o, double dropout) {
  namespace nn = ashlar::nn;
  return nn::chain(nn::embedding(o.vocabulary, o.features),
                   nn::repeat(o.layers, nn::gpt_block(o.features, o.heads, dropout)),
                   nn::layer_norm(o.features), nn::linear(o.features, o.vocabulary));
}

/// Returns the net of trained_gpt with its last matrix tied to the embedding's table.
inline auto trained_tied_gpt(ashlar::nn::gpt_options const& o, double dropout) {
  namespace nn = ashlar::nn;
  return nn::tied(nn::embedding(o.vocabulary, o.features),
                  nn::repeat(o.layers, nn::gpt_block(o.features, o.heads, dropout)),
                  nn::layer_norm(o.features), nn::output_embedding(o.features, o.vocabulary));
}

/// Returns the net of trained_gpt with experts in every second block.
inline auto trained_moe_gpt(ashlar::nn::gpt_options const& o,
                            ashlar::nn::moe_options const& experts, double dropout) {
  namespace nn = ashlar::nn;
  return nn::chain(
      nn::embedding(o.vocabulary, o.features),
      nn::repeat(o.layers / 2, nn::chain(nn::gpt_block(o.features, o.heads, dropout),
                                         nn::moe_block(o.features, o.heads, experts, dropout))),
      nn::layer_norm(o.features), nn::linear(o.features, o.vocabulary));
}

}  // namespace example
