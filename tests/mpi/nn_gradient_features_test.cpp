// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests gradients of the layers on rows of features. Tensor extents are not divisible by the
// extents of the mesh axes, and some extents are smaller than these axes. Shards are therefore
// uneven, and some shards are empty.

#include <support/gradients.hpp>
#include <support/with_dx.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/mean_squared_error.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("linear with and without bias, gelu") {
  gradient_check(nn::chain(nn::linear(4, 7), nn::gelu(), nn::linear(7, 5, false)),
                 nn::feature_batch{5, 4, 2}, 0, 5)
      .run(12);
}

TEST_CASE("relu and dropout") {
  gradient_check(nn::chain(nn::linear(3, 7, false), nn::relu(), nn::dropout(0.3), nn::linear(7, 5)),
                 nn::feature_batch{3, 3, 2}, 0, 5)
      .run(12);
}

TEST_CASE("layer norm, and a residual around a chain") {
  gradient_check(nn::chain(nn::linear(4, 6),
                           nn::residual(nn::chain(nn::layer_norm(6), nn::linear(6, 6))),
                           nn::layer_norm(6)),
                 nn::feature_batch{5, 4}, 0, 6)
      .run(12);
}

TEST_CASE("repeats of both forms, residuals in residuals") {
  auto const block = nn::residual(
      nn::chain(nn::linear(5, 5), nn::residual(nn::gelu()), nn::dropout(0.2)));
  gradient_check(nn::chain(nn::repeat(2, block), nn::repeat<2>(nn::linear(5, 5))),
                 nn::feature_batch{3, 5}, 0, 5, 0)
      .run(10);
}

TEST_CASE("linear to and from several dims, with and without bias") {
  gradient_check(nn::chain(nn::linear<1, 2>({4}, {3, 4}), nn::linear<2, 2>({3, 4}, {2, 3}, false),
                           nn::gelu(), nn::linear<2, 1>({2, 3}, {5})),
                 nn::feature_batch{5, 4}, 0, 5)
      .run(12);
}

TEST_CASE("one row, one feature, one result") {
  // The loss is the squared error, because the cross entropy of a single class is always 0.
  gradient_check(
      nn::chain(nn::linear(1, 2), nn::gelu(), nn::linear(2, 1), nn::mean_squared_error()),
      nn::feature_batch{1, 1, 2}, 0, 1, 0)
      .run(8);
}

TEST_CASE("the first linear layer leaves out the gradient of the data, also in segments") {
  auto const make = [](auto const& first) {
    return nn::chain(nn::segment(nn::chain(first, nn::gelu(), nn::dropout(0.2))), nn::linear(4, 4),
                     nn::linear(4, 5));
  };
  check_without_dx(make, nn::linear(4, 4), nn::feature_batch{5, 4, 2}, 5);
}

}  // namespace ashlar_test
