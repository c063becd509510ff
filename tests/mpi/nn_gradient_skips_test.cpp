// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests gradients of nets with skips, which concatenate their input and the output of the inner
// net. The concatenated extents are not divisible by the extents of the mesh axes, so shards are
// uneven, and some are empty.

#include <support/gradients.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/dropout.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/nn/skip.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("skips of features: around several layers, around none, one after another") {
  gradient_check(nn::chain(nn::linear(4, 3),
                           nn::skip(nn::chain(nn::linear(3, 5), nn::gelu(), nn::linear(5, 4))),
                           nn::skip(nn::chain()), nn::skip(nn::gelu()), nn::linear(28, 5)),
                 nn::feature_batch{5, 4, 2}, 0, 5)
      .run(12);
}

TEST_CASE("a skip that begins the net, and one that ends before the loss") {
  gradient_check(nn::chain(nn::skip(nn::linear(4, 3)), nn::gelu(), nn::skip(nn::linear(7, 2))),
                 nn::feature_batch{3, 4}, 0, 9)
      .run(12);
}

TEST_CASE("skips in skips, as a U-Net nests them along channels") {
  auto const lower = nn::skip(
      nn::chain(nn::convolution(3, 4, 3, {.padding = 1}), nn::gelu(), nn::convolution(4, 2, 1)));
  auto const upper = nn::skip(nn::chain(nn::convolution(2, 3, 1), lower, nn::convolution(5, 3, 1)));
  gradient_check(nn::chain(nn::convolution(1, 2, 3, {.padding = 1}), upper,
                           nn::convolution(5, 2, 1), nn::max_pool(2), nn::flatten(),
                           nn::linear(8, 3)),
                 nn::image_batch{3, 1, 4, 5, 2}, 0, 3)
      .run(8);
}

TEST_CASE("skips around residuals, in residuals, and ends that meet") {
  auto const around = nn::skip(nn::residual(nn::linear(3, 3)));
  auto const within = nn::residual(nn::chain(nn::skip(nn::linear(6, 4)), nn::linear(10, 6)));
  gradient_check(nn::chain(nn::linear(4, 3), around, within, nn::residual(nn::residual(nn::gelu())),
                           nn::chain(nn::linear(6, 5), nn::linear(5, 6)), nn::skip(within),
                           nn::linear(12, 6)),
                 nn::feature_batch{3, 4}, 0, 6)
      .run(10);
  gradient_check(
      nn::chain(nn::linear(4, 6),
                nn::residual(nn::chain(nn::linear(6, 1), nn::skip(nn::skip(nn::linear(1, 4)))))),
      nn::feature_batch{3, 4}, 0, 6)
      .run(10);
}

TEST_CASE("skips in recomputed segments, and segments in skips") {
  auto const block = nn::chain(nn::skip(nn::chain(nn::linear(4, 3), nn::gelu())), nn::dropout(0.2),
                               nn::linear(7, 4));
  gradient_check(nn::chain(nn::linear(5, 4), nn::repeat(2, block),
                           nn::skip(nn::chain(nn::repeat<2>(nn::residual(nn::linear(4, 4))),
                                              nn::segment(nn::linear(4, 2)))),
                           nn::segment(nn::skip(nn::gelu())), nn::linear(12, 5)),
                 nn::feature_batch{5, 5, 2}, 0, 5)
      .run(14);
}

TEST_CASE("skips along the features of tokens") {
  gradient_check(nn::chain(nn::embedding(7, 4),
                           nn::skip<2>(nn::chain(nn::layer_norm(4), nn::self_attention(4, 2))),
                           nn::linear(8, 7)),
                 nn::token_batch{3, 4}, 7, 7)
      .run(8);
}

}  // namespace ashlar_test
