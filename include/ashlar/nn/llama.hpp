// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transformer block of Llama as a chain of two residuals, and whole nets made of such blocks:
//
//   x + attention(rms_norm(x))      grouped-query attention with rotary positions
//   x + swiglu(rms_norm(x))
//
// No layer has a bias. Only the rotations of queries and keys depend on positions, so the embedding
// has no position vectors. The nets run on the host only, because their attention does.

#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/grouped_attention.hpp>
#include <ashlar/nn/output_embedding.hpp>
#include <ashlar/nn/repeat.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/nn/rms_norm.hpp>
#include <ashlar/nn/swiglu.hpp>
#include <ashlar/nn/tied.hpp>

namespace ashlar::nn {

/// The extents of a Llama. The defaults are those of Llama 2 7B.
struct llama_options {
  int layers = 32;
  std::int64_t features = 4096;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 32;
  std::int64_t hidden = 11008;  ///< features inside swiglu
  std::int64_t vocabulary = 32000;
  double rotary_base = 10000;
  double epsilon = 1e-5;     ///< the ε of rms_norm
  rotary_scaling scaling{};  ///< how rotary positions are scaled, as in Llama 3.1 and later
};

/// Returns one block. Maps [batch, seq, features] to the same extents. Throws ashlar::error in the
/// same cases as nn::attention, for example if the number of heads does not divide the number of
/// features.
constexpr auto llama_block(llama_options const& o) {
  return chain(
      residual(chain(rms_norm(o.features, o.epsilon), attention({.features = o.features,
                                                                 .heads = o.heads,
                                                                 .kv_heads = o.kv_heads,
                                                                 .rotary = true,
                                                                 .rotary_base = o.rotary_base,
                                                                 .scaling = o.scaling}))),
      residual(chain(rms_norm(o.features, o.epsilon), swiglu(o.features, o.hidden))));
}

/// Returns a whole Llama. Input: token_batch; output: [batch, seq, vocabulary].
constexpr auto llama(llama_options const& o) {
  return chain(embedding(o.vocabulary, o.features, no_positions), repeat(o.layers, llama_block(o)),
               rms_norm(o.features, o.epsilon), linear(o.features, o.vocabulary, false));
}

/// Returns a whole Llama whose last matrix is the embedding's table, as in the small models of
/// Llama 3.2.
constexpr auto tied_llama(llama_options const& o) {
  return tied(embedding(o.vocabulary, o.features, no_positions), repeat(o.layers, llama_block(o)),
              rms_norm(o.features, o.epsilon), output_embedding(o.features, o.vocabulary));
}

/// Published sizes: Touvron et al., "Llama 2: Open Foundation and Fine-Tuned Chat Models", 2023,
/// and Grattafiori et al., "The Llama 3 Herd of Models", 2024. The numbers of Llama 3.1 and 3.2 are
/// from the config.json files on Hugging Face; the small models of Llama 3.2 are nn::tied_llama.
namespace llama_sizes {
inline constexpr llama_options llama2_7b{32, 4096, 32, 32, 11008, 32000};
inline constexpr llama_options llama2_13b{40, 5120, 40, 40, 13824, 32000};
inline constexpr llama_options llama2_70b{80, 8192, 64, 8, 28672, 32000};
inline constexpr llama_options llama3_8b{32, 4096, 32, 8, 14336, 128256, 500000};
inline constexpr llama_options llama3_70b{80, 8192, 64, 8, 28672, 128256, 500000};
inline constexpr llama_options llama3_1_8b{.kv_heads = 8,
                                           .hidden = 14336,
                                           .vocabulary = 128256,
                                           .rotary_base = 500000,
                                           .scaling = {.factor = 8}};
inline constexpr llama_options llama3_2_1b{.layers = 16,
                                           .features = 2048,
                                           .kv_heads = 8,
                                           .hidden = 8192,
                                           .vocabulary = 128256,
                                           .rotary_base = 500000,
                                           .scaling = {.factor = 32}};
}  // namespace llama_sizes

}  // namespace ashlar::nn
