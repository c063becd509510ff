// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The vision transformer (Dosovitskiy et al. 2021), which classifies images. A token is a square
// patch of the image:
//
//   patches      a convolution whose stride is its kernel size, [batch, rows, columns, features]
//   positions    a learned vector for each patch is added
//   blocks       x + attention(layer_norm(x)), then x + perceptron(layer_norm(x)), without a mask
//   classes      layer norm, the mean over all patches, a linear layer
//
//   net                parameters    published
//   vit_b16()          86,566,120    86,567,656
//
// The published ViT-B/16 reads its class from one more token, which has a learned vector and a
// position of its own: 2 * 768 parameters more. Here the class is read from the mean over the
// patches, as in later nets of the same authors (Beyer et al. 2022). The published net has dropout
// of 0.1, and this one has none. The gelu of this net is the form with tanh (device/functor.hpp).
// Patches keep their two dims, rows and columns.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/channel_order.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/formula.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/image_attention.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/layer_scale.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/repeat.hpp>
#include <ashlar/nn/residual.hpp>

namespace ashlar::nn {

/// The extents of a vision transformer. The defaults are those of ViT-B/16 for 1000 classes.
struct vit_options {
  std::int64_t image = 224;  ///< the height and width of an image, a multiple of `patch`
  std::int64_t patch = 16;   ///< the height and width of a patch, in pixels
  int layers = 12;
  std::int64_t features = 768;
  std::int64_t heads = 12;
  std::int64_t hidden = 3072;  ///< features inside the perceptrons
  std::int64_t classes = 1000;
  std::int64_t channels = 3;  ///< the number of channels of an image
};

/// Returns an encoder block, with layer norm at the start of each residual and without a mask. Maps
/// [batch, rows, columns, features] to the same extents.
constexpr auto vit_block(std::int64_t features, std::int64_t heads, std::int64_t hidden) {
  return chain(residual(chain(layer_norm(features), pixel_attention(features, heads))),
               residual(chain(layer_norm(features), perceptron(features, hidden))));
}
/// Returns an encoder block with a layer scale at the end of each residual. `scale` is the initial
/// value of all gains.
constexpr auto vit_block(std::int64_t features, std::int64_t heads, std::int64_t hidden,
                         double scale) {
  return chain(residual(chain(layer_norm(features), pixel_attention(features, heads),
                              layer_scale(features, scale))),
               residual(chain(layer_norm(features), perceptron(features, hidden),
                              layer_scale(features, scale))));
}

/// Returns the layer that adds a learned vector to each token of x [batch, rows, columns,
/// features]. Its passes do not communicate.
constexpr auto image_positions(std::int64_t rows, std::int64_t columns, std::int64_t features) {
  return formula(
      "positions", [](auto x, auto positions) { return x + positions; },
      weight("positions", {rows, columns, features}, normal_deviates(0.02)));
}

/// Returns the layer that maps x [batch, rows, columns, features] to the mean over all tokens,
/// [batch, features]. Its passes do not communicate.
constexpr auto mean_of_tokens() {
  return formula("mean_of_tokens", [](auto x) { return flatten<1, 3>(mean(x, 1, 2)); });
}

namespace detail {

template <class Block>
constexpr auto vit_of(vit_options const& o, Block const& block) {
  if (o.patch < 1 || o.image < o.patch || o.image % o.patch != 0)
    throw error("nn::vit", "images of " + std::to_string(o.image) +
                               " rows are not divided into patches of " + std::to_string(o.patch) +
                               ". Choose a patch that divides the image.");
  std::int64_t const side = o.image / o.patch;
  return chain(convolution(o.channels, o.features, o.patch, {.stride = o.patch}), channels_last(),
               image_positions(side, side, o.features), repeat(o.layers, block),
               layer_norm(o.features), mean_of_tokens(), linear(o.features, o.classes));
}

}  // namespace detail

/// Returns a vision transformer. Input: image_batch of `image` rows and columns; output: [batch,
/// classes]. Throws ashlar::error if the height of a patch does not divide the height of an image,
/// or if the number of heads does not divide the number of features.
constexpr auto vit(vit_options const& o) {
  return detail::vit_of(o, vit_block(o.features, o.heads, o.hidden));
}
/// Returns a vision transformer with a layer scale at the end of each residual. `scale` is the
/// initial value of all gains. Throws ashlar::error in the same cases as the overload above.
constexpr auto vit(vit_options const& o, double scale) {
  return detail::vit_of(o, vit_block(o.features, o.heads, o.hidden, scale));
}

/// Returns ViT-B/16, for images of 3 x 224 x 224 and 1000 classes.
constexpr auto vit_b16() { return vit({}); }

}  // namespace ashlar::nn
