// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests gradients of the layers on images. The numbers of images and channels are not divisible by
// the extents of the mesh axes, and some of the numbers are smaller than these extents. Shards are
// therefore uneven, and some shards are empty.

#include <support/gradients.hpp>
#include <support/with_dx.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/group_norm.hpp>
#include <ashlar/nn/image_attention.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/nn/upsample.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("convolution, maximum pooling and a linear layer over channels, rows and columns") {
  gradient_check(nn::chain(nn::convolution(2, 3, 3, {.padding = 1}), nn::gelu(), nn::max_pool(2),
                           nn::linear<3, 1>({3, 2, 2}, {5})),
                 nn::image_batch{3, 2, 4, 5}, 0, 5)
      .run(12);
}

TEST_CASE("strides, no bias, average pooling, flatten, and a residual") {
  gradient_check(nn::chain(nn::convolution(1, 5, 3, {.stride = 2, .padding = 2, .bias = false}),
                           nn::residual(nn::convolution(5, 5, 1)),
                           nn::average_pool(3, {.stride = 1}), nn::flatten(), nn::linear(10, 3)),
                 nn::image_batch{2, 1, 5, 3, 2}, 0, 3)
      .run(12);
}

TEST_CASE("group norm, upsampling and the squared error of images") {
  gradient_check(
      nn::chain(nn::convolution(2, 4, 3, {.stride = 2, .padding = 1}), nn::group_norm(4, 2),
                nn::residual(nn::chain(nn::group_norm(4, 4), nn::gelu(), nn::convolution(4, 4, 1))),
                nn::upsample(2), nn::convolution(4, 2, 3, {.padding = 1}),
                nn::mean_squared_error()),
      nn::image_batch{3, 2, 4, 6, 2}, 0, 1)
      .run(12);
}

TEST_CASE("attention among pixels, and attention to a context that travels with the batch") {
  auto const attend = [](auto const& kind) {
    return nn::residual(nn::chain(nn::group_norm(4, 2), kind));
  };
  gradient_check(nn::chain(nn::convolution(2, 4, 1), attend(nn::image_attention(4, 2)),
                           attend(nn::cross_attention(4, 2, {3, 5})), nn::convolution(4, 2, 1),
                           nn::mean_squared_error()),
                 nn::image_batch{3, 2, 2, 3, 2}, 0, 1)
      .run(12);
}

TEST_CASE("flatten of planes of one pixel keeps a split of channels") {
  gradient_check(nn::chain(nn::convolution(2, 3, 2), nn::max_pool(2, {.padding = 1}),
                           nn::max_pool(2), nn::flatten(), nn::linear(3, 2)),
                 nn::image_batch{1, 2, 3, 3}, 0, 2, 0)
      .run(8);
}

TEST_CASE("the first convolution leaves out the gradient of the images") {
  auto const make = [](auto const& first) {
    return nn::chain(first, nn::max_pool(2), nn::flatten(), nn::linear(12, 3));
  };
  check_without_dx(make, nn::convolution(2, 3, 3, {.padding = 1}), nn::image_batch{3, 2, 4, 5}, 3);
}

}  // namespace ashlar_test
