// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A tiny Llama and random weights for it, with the names of published files. Its head_dim of 4
// gives two pairs for rotary positions. In `scaled_llama`, the frequency of the first pair is
// between the low and the high frequencies of the scaling, and that of the second pair is low.

#include <support/published_weights.hpp>

#include <ashlar/nn/llama.hpp>

namespace ashlar_test {

inline constexpr ashlar::nn::llama_options tiny_llama{.layers = 2,
                                                      .features = 16,
                                                      .heads = 4,
                                                      .kv_heads = 2,
                                                      .hidden = 10,
                                                      .vocabulary = 11,
                                                      .rotary_base = 100};
inline constexpr ashlar::nn::llama_options scaled_llama = [] {
  auto o = tiny_llama;
  o.scaling = {.factor = 5, .low = 1, .high = 4, .original = 16};
  return o;
}();

/// Returns the weights of `tiny_llama`.
inline published_weights published_llama() {
  published_weights w;
  auto const d = tiny_llama.features, keys = d / tiny_llama.heads * tiny_llama.kv_heads;
  w.add("model.embed_tokens.weight", {tiny_llama.vocabulary, d}, 0.1f);
  w.add("model.norm.weight", {d}, 1);
  w.add("lm_head.weight", {tiny_llama.vocabulary, d});
  for (int i = 0; i < tiny_llama.layers; ++i) {
    std::string const block = "model.layers." + std::to_string(i) + ".";
    w.add(block + "input_layernorm.weight", {d}, 1);
    w.add(block + "post_attention_layernorm.weight", {d}, 1);
    w.add(block + "self_attn.q_proj.weight", {d, d});
    w.add(block + "self_attn.k_proj.weight", {keys, d});
    w.add(block + "self_attn.v_proj.weight", {keys, d});
    w.add(block + "self_attn.o_proj.weight", {d, d});
    w.add(block + "mlp.gate_proj.weight", {tiny_llama.hidden, d});
    w.add(block + "mlp.up_proj.weight", {tiny_llama.hidden, d});
    w.add(block + "mlp.down_proj.weight", {d, tiny_llama.hidden});
  }
  return w;
}

}  // namespace ashlar_test
