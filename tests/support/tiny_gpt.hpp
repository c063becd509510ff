// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small GPT with tied embeddings, and batches of random tokens for it.

#include <support/nets.hpp>

#include <ashlar/nn/gpt.hpp>

namespace ashlar_test {

inline auto const tiny_gpt = ashlar::nn::tied(
    ashlar::nn::embedding(11, 6), ashlar::nn::repeat(1, ashlar::nn::gpt_block(6, 3)),
    ashlar::nn::layer_norm(6), ashlar::nn::output_embedding(6, 11));
inline ashlar::nn::token_batch const tiny_tokens{6, 4, 2};

/// Returns a batch. Batches with different seeds differ.
inline auto tiny_batch(std::int64_t seed) {
  return data_for<std::int32_t>(tiny_gpt, tiny_tokens, 11, 11, static_cast<unsigned>(seed), 5);
}

}  // namespace ashlar_test
