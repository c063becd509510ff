// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small GPT with tied embeddings, its problem, plans in two stages, and batches of random tokens.

#include <support/nets.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/price_pipeline.hpp>

namespace ashlar_test {

inline auto const tiny_gpt = ashlar::nn::tied(
    ashlar::nn::embedding(11, 6), ashlar::nn::repeat(1, ashlar::nn::gpt_block(6, 3)),
    ashlar::nn::layer_norm(6), ashlar::nn::output_embedding(6, 11));
inline ashlar::nn::token_batch const tiny_tokens{6, 4, 2};

/// Returns the problem of tiny_gpt in float.
inline ashlar::search::problem const& tiny_problem() {
  static auto const net = any_length(ashlar::nn::describe<float>(tiny_gpt, tiny_tokens));
  return net;
}

/// Returns a plan in two stages on equally many ranks, which places tensors as `chosen` does. `net`
/// is the problem of tiny_gpt, in float or double.
inline ashlar::search::pipeline_plan in_tiny_stages(ashlar::search::problem const& net,
                                                    ashlar::search::plan const& chosen,
                                                    ashlar::machine const& m) {
  return ashlar::search::price_pipeline(net, chosen, {0, 7, net.size()}, {0, 0}, 0, 2, m);
}

/// Returns a batch. Batches with different seeds differ.
inline auto tiny_batch(std::int64_t seed) {
  return random_batch<std::int32_t>(tiny_tokens, 11, 11, static_cast<unsigned>(seed), 5);
}

}  // namespace ashlar_test
