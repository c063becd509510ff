// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests gradients of nets with branches. The two nets of a branch read the same tensor, and their
// outputs are added, multiplied or concatenated. Extents are not divisible by those of the mesh
// axes, so shards are uneven, and some are empty.

#include <support/gradients.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/branch.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/dropout.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/nn/skip.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("branches that add, multiply and concatenate, one in another and at both ends") {
  auto const gated = nn::branch(nn::linear(3, 5), nn::chain(nn::linear(3, 5), nn::gelu()),
                                nn::join::multiply);
  auto const wide = nn::branch(nn::chain(gated, nn::linear(5, 2)), nn::residual(nn::linear(3, 3)),
                               nn::join::concat<1>);
  gradient_check(nn::chain(nn::branch(nn::linear(4, 3),
                                      nn::chain(nn::linear(4, 2), nn::gelu(), nn::linear(2, 3)),
                                      nn::join::add),
                           wide, nn::branch(nn::linear(5, 6), nn::linear(5, 6), nn::join::add)),
                 nn::feature_batch{5, 4, 2}, 0, 6)
      .run(12);
}

TEST_CASE("branches in residuals and skips, around them, and in recomputed segments") {
  auto const inner = nn::branch(nn::residual(nn::gelu()), nn::skip(nn::linear(4, 4)),
                                nn::join::concat<1>);
  auto const block = nn::residual(nn::chain(inner, nn::linear(12, 4), nn::dropout(0.2)));
  gradient_check(
      nn::chain(
          nn::linear(5, 4), nn::repeat(2, block),
          nn::residual(nn::branch(nn::linear(4, 4), nn::residual(nn::gelu()), nn::join::add)),
          nn::segment(nn::branch(nn::gelu(), nn::repeat<2>(nn::linear(4, 4)), nn::join::multiply))),
      nn::feature_batch{5, 5, 2}, 0, 4)
      .run(8);
}

}  // namespace ashlar_test
