// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// AlexNet with one tower (Krizhevsky 2014, "One weird trick for parallelizing convolutional neural
// networks"), without dropout and local response normalization. Like common implementations, it has
// 61,100,840 parameters at 1,000 classes. Its layers, with "/ n" for a stride of n:
//
//   11 x 11 / 4, 64    maximum 3 x 3 / 2    5 x 5, 192    maximum 3 x 3 / 2
//   3 x 3, 384         3 x 3, 256           3 x 3, 256    maximum 3 x 3 / 2
//   linear to 4096, to 4096, to the classes

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>

namespace ashlar::nn {

/// The extents of the net. The defaults are the published ones (Krizhevsky 2014).
struct alexnet_options {
  std::int64_t image = 224;  ///< the height and width of an image, in pixels; at least 63
  /// The number of channels of the first convolution. The numbers of channels of the other
  /// convolutions are multiples of it.
  std::int64_t width = 64;
  std::int64_t hidden = 4096;  ///< the number of features between the linear layers
  std::int64_t classes = 1000;
  std::int64_t channels = 3;  ///< the number of channels of an image
  bool halo = false;          ///< whether plans may split the rows of images (convolution.hpp)
};

/// Returns the net. Input: image_batch; output: [batch, classes]. Throws ashlar::error if the
/// images are too small.
constexpr auto alexnet(alexnet_options const& o = {}) {
  device::window const first{11, 4, 2}, pool{3, 2, 0};
  std::int64_t const side = pool.places(pool.places(pool.places(first.places(o.image))));
  if (side < 1)
    throw error("nn::alexnet",
                "images of " + std::to_string(o.image) +
                    " rows leave no pixels for the last layers. Use 63 rows or more.");
  std::int64_t const w = o.width;
  auto const maximum = max_pool(3, {.stride = 2, .halo = o.halo});
  return chain(convolution(o.channels, w, 11, {.stride = 4, .padding = 2, .halo = o.halo}), relu(),
               maximum, convolution(w, 3 * w, 5, {.padding = 2, .halo = o.halo}), relu(), maximum,
               convolution(3 * w, 6 * w, 3, {.padding = 1, .halo = o.halo}), relu(),
               convolution(6 * w, 4 * w, 3, {.padding = 1, .halo = o.halo}), relu(),
               convolution(4 * w, 4 * w, 3, {.padding = 1, .halo = o.halo}), relu(), maximum,
               linear<3, 1>({4 * w, side, side}, {o.hidden}), relu(), linear(o.hidden, o.hidden),
               relu(), linear(o.hidden, o.classes));
}

}  // namespace ashlar::nn
