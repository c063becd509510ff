// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Nets whose inputs are images:
//
// - convolutions with strides, with padding and without bias
// - max pooling, average pooling and flatten
// - residuals, and segments within segments
// - one stage of VGG, and the whole nets VGG13 and AlexNet

#include <ashlar/nn/alexnet.hpp>
#include <ashlar/nn/vgg.hpp>

#include "suite.hpp"

namespace ashlar_bits {

void run_images(suite& all) {
  all.run<double>("convolution and pooling",
                  nn::chain(nn::convolution(2, 3, 3, {.padding = 1}), nn::gelu(), nn::max_pool(2),
                            nn::linear<3, 1>({3, 2, 2}, {5})),
                  nn::image_batch{3, 2, 4, 5}, 0, 5);
  all.run<double>("strides, average pooling, flatten",
                  nn::chain(nn::convolution(1, 5, 3, {.stride = 2, .padding = 2, .bias = false}),
                            nn::residual(nn::convolution(5, 5, 1)),
                            nn::average_pool(3, {.stride = 1}), nn::flatten(), nn::linear(10, 3)),
                  nn::image_batch{2, 1, 5, 3, 2}, 0, 3);
  auto const stage = [](std::int64_t in, std::int64_t out) {
    return nn::segment(
        nn::chain(nn::convolution(in, out, 3, {.padding = 1}), nn::relu(), nn::max_pool(2)));
  };
  all.run<double>("segments of images",
                  nn::chain(nn::segment(nn::chain(stage(2, 4), nn::dropout(0.2))), stage(4, 3),
                            nn::flatten(), nn::repeat<2>(nn::linear(12, 12)), nn::linear(12, 5)),
                  nn::image_batch{4, 2, 8, 8, 2}, 0, 5);
  all.run<double>("stage of vgg",
                  nn::chain(nn::vgg_stage<2>(2, 3), nn::linear<3, 1>({3, 4, 4}, {6}), nn::relu(),
                            nn::linear(6, 5)),
                  nn::image_batch{3, 2, 8, 9, 2}, 0, 5);
  all.run<float>("vgg13, float", nn::vgg13({.image = 32, .width = 2, .hidden = 8, .classes = 5}),
                 nn::image_batch{3, 3, 32, 32}, 0, 5);
  all.run<float>("alexnet, float",
                 nn::alexnet({.image = 63, .width = 2, .hidden = 8, .classes = 5}),
                 nn::image_batch{3, 3, 63, 63}, 0, 5);
}

}  // namespace ashlar_bits
