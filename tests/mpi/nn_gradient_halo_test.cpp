// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests gradients of convolution and pooling whose plans may split the rows of images. Then ranks
// exchange halos. The numbers of rows are not divisible by the extents of the mesh axes, some shards
// are thinner than a halo, and some are empty.

#include <support/gradients.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("convolution and maximum pooling with halos") {
  gradient_check(nn::chain(nn::convolution(2, 3, 3, {.padding = 1, .halo = true}), nn::gelu(),
                           nn::max_pool(2, {.halo = true}), nn::linear<3, 1>({3, 3, 2}, {5})),
                 nn::image_batch{2, 2, 7, 5}, 0, 5)
      .run(16);
}

}  // namespace ashlar_test
