// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Mixtures of experts, in short MoE. A mixture is a feed-forward net of many experts, of which each
// token uses only a few.
//
//   moe         dispatch, experts, combine
//   moe_block   a block of a transformer whose feed-forward net is a mixture of experts
//   moe_gpt     a GPT in which every second block has experts
//
// Between dispatch, experts and combine, the rows of tokens travel to the ranks that have their
// experts, and back. These are redistributions like all others: the plan says where tokens, experts
// and hidden features are split.

#include <ashlar/nn/combine.hpp>
#include <ashlar/nn/dispatch.hpp>
#include <ashlar/nn/experts.hpp>
#include <ashlar/nn/gpt.hpp>

namespace ashlar::nn {

/// Returns a mixture of experts for tokens [.., features].
constexpr auto moe(std::int64_t features, moe_options const& o = {}) {
  return chain(dispatch(features, o), experts(features, o), combine());
}

/// Returns a block like gpt_block whose feed-forward net is a mixture of experts.
constexpr auto moe_block(std::int64_t features, std::int64_t heads, moe_options const& o = {}) {
  return chain(residual(chain(layer_norm(features), self_attention(features, heads))),
               residual(chain(layer_norm(features), moe(features, o))));
}
/// Returns the same block with dropout of probability `p` at the end of the inner net of each
/// residual.
constexpr auto moe_block(std::int64_t features, std::int64_t heads, moe_options const& o,
                         double p) {
  return chain(residual(chain(layer_norm(features), self_attention(features, heads), dropout(p))),
               residual(chain(layer_norm(features), moe(features, o), dropout(p))));
}

/// Returns a GPT with `g.layers` blocks, of which every second one has experts. An odd number of
/// blocks is rounded down.
constexpr auto moe_gpt(gpt_options const& g, moe_options const& o) {
  return chain(embedding(g.vocabulary, g.features),
               repeat(g.layers / 2,
                      chain(gpt_block(g.features, g.heads), moe_block(g.features, g.heads, o))),
               layer_norm(g.features), linear(g.features, g.vocabulary, false));
}

}  // namespace ashlar::nn
