// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// VGG (Simonyan and Zisserman 2015), configurations B and D, without dropout. It has five stages of
// 3 x 3 convolutions, each convolution followed by a relu; each stage ends in a 2 x 2 maximum. The
// number of channels doubles from stage to stage, up to eight times the width. Three linear layers
// follow.
//
//   net     convolutions      parameters, as published
//   vgg13   2 2 2 2 2         133,047,848
//   vgg16   2 2 3 3 3         138,357,544
//
// These counts are for width 64, 4096 hidden features, 1000 classes and images of 3 x 224 x 224.
// The first linear layer takes channels, rows and columns as separate dims, so that a plan may keep
// channels split. Smaller options give a net of the same form that trains on a laptop.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>

namespace ashlar::nn {

/// The extents of the net. The defaults are the published ones (Simonyan and Zisserman 2015).
struct vgg_options {
  std::int64_t image = 224;    ///< the height and width of an image, in pixels; at least 32
  std::int64_t width = 64;     ///< the number of channels of the first stage
  std::int64_t hidden = 4096;  ///< the number of features between the linear layers
  std::int64_t classes = 1000;
  std::int64_t channels = 3;  ///< the number of channels of an image
  bool halo = false;          ///< whether plans may split the rows of images (convolution.hpp)
};

/// Returns a stage: N (2 or 3) convolutions of 3 x 3, each with a relu, then a 2 x 2 maximum.
template <int N>
  requires(N == 2 || N == 3)
constexpr auto vgg_stage(std::int64_t in, std::int64_t out, bool halo = false) {
  auto const convolve = [out, halo](std::int64_t from) {
    return convolution(from, out, 3, {.padding = 1, .halo = halo});
  };
  auto const maximum = max_pool(2, {.halo = halo});
  if constexpr (N == 2) return chain(convolve(in), relu(), convolve(out), relu(), maximum);
  else return chain(convolve(in), relu(), convolve(out), relu(), convolve(out), relu(), maximum);
}

/// Returns a net whose stages have N1 to N5 convolutions, followed by the linear layers. Input:
/// image_batch; output: [batch, classes]. Throws ashlar::error if the images are too small to be
/// halved five times.
template <int N1, int N2, int N3, int N4, int N5>
constexpr auto vgg(vgg_options const& o) {
  if (o.image < 32)
    throw error("nn::vgg", "images of " + std::to_string(o.image) +
                               " rows cannot be halved five times. Use 32 rows or more.");
  std::int64_t const w = o.width, side = o.image / 32;
  return chain(vgg_stage<N1>(o.channels, w, o.halo), vgg_stage<N2>(w, 2 * w, o.halo),
               vgg_stage<N3>(2 * w, 4 * w, o.halo), vgg_stage<N4>(4 * w, 8 * w, o.halo),
               vgg_stage<N5>(8 * w, 8 * w, o.halo), linear<3, 1>({8 * w, side, side}, {o.hidden}),
               relu(), linear(o.hidden, o.hidden), relu(), linear(o.hidden, o.classes));
}

/// Returns VGG-13, with two convolutions per stage. It maps [batch, channels, image, image] to
/// [batch, classes].
constexpr auto vgg13(vgg_options const& o = {}) { return vgg<2, 2, 2, 2, 2>(o); }
/// Returns VGG-16, with three convolutions in each of the last three stages.
constexpr auto vgg16(vgg_options const& o = {}) { return vgg<2, 2, 3, 3, 3>(o); }

}  // namespace ashlar::nn
