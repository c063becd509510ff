// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests gradients of mixtures of experts. The gradients of one process are compared with finite
// differences, on data for which the small differences change no token's expert. Under random
// plans, the loss and all gradients must equal those of one process. The plans split tokens,
// experts and hidden features on all meshes, so all kinds of redistributions of the experts' rows
// occur. If there are more ranks than experts, sequences or tokens, some ranks hold nothing.

#include <support/gradients.hpp>

#include <ashlar/nn/moe.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;

/// Returns a net with a mixture of experts that is not inside a residual. The mixture reads the
/// output of an embedding.
auto net_of(nn::moe_options const& o) {
  return nn::chain(nn::embedding(7, 4), nn::moe(4, o), nn::linear(4, 5));
}

}  // namespace

TEST_CASE("two of four experts") {
  gradient_check(net_of({.experts = 4, .chosen = 2, .hidden = 6}), nn::token_batch{3, 4, 2}, 7, 5)
      .run(24);
}

TEST_CASE("one of five experts, some of which have no tokens") {
  gradient_check(net_of({.experts = 5, .chosen = 1, .hidden = 3}), nn::token_batch{2, 3}, 7, 5)
      .run(16);
}

TEST_CASE("all of three experts, and one expert in all") {
  gradient_check(net_of({.experts = 3, .chosen = 3, .hidden = 5}), nn::token_batch{3, 2}, 7, 5)
      .run(16);
  gradient_check(net_of({.experts = 1, .chosen = 1, .hidden = 5}), nn::token_batch{2, 3}, 7, 5)
      .run(12);
}

TEST_CASE("a capacity that drops tokens") {
  gradient_check(net_of({.experts = 4, .chosen = 2, .hidden = 3, .capacity = 0.6}),
                 nn::token_batch{3, 4, 2}, 7, 5)
      .run(16);
}

TEST_CASE("blocks with experts, repeated") {
  gradient_check(nn::chain(nn::embedding(7, 4),
                           nn::repeat(2, nn::moe_block(4, 2, {.experts = 3, .hidden = 4})),
                           nn::layer_norm(4), nn::linear(4, 7)),
                 nn::token_batch{3, 3}, 7, 7)
      .run(8);
}

}  // namespace ashlar_test
