// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Attention of images, in which every pixel is a token with one feature per channel. There are two
// kinds:
//
//   image_attention(64, 4)                    every pixel attends to all pixels of its image
//   cross_attention(64, 4, {16, 32})          every pixel attends to the 16 tokens of 32 features
//                                             of its image's context (context_attention.hpp)
//
// Both map images [batch, channels, height, width] to images of the same extents: the channels move
// behind the pixels, linear layers project before and after the attention, and the channels move
// back. pixel_attention and pixel_cross_attention do not move channels: their images have the
// channels last already. Heads have a dim of their own between the projections, so that plans can
// split whole heads.

#include <ashlar/nn/attention.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/channel_order.hpp>
#include <ashlar/nn/context_attention.hpp>
#include <ashlar/nn/linear.hpp>

namespace ashlar::nn {

namespace detail {

/// Returns multi-head attention of the pixels of an image to the image's context, with projections.
/// Throws the errors of extent_of_head.
constexpr auto projected_context_attention(char const* entity, std::int64_t channels,
                                           std::int64_t heads, context_size const& context) {
  std::int64_t const d = extent_of_head(entity, channels, heads, "channels");
  return chain(linear<1, 2>({channels}, {heads, d}), context_attention(context),
               linear<2, 1>({heads, d}, {channels}));
}

}  // namespace detail

/// Returns multi-head self-attention among the pixels of an image, with its projections. Maps
/// [batch, height, width, channels] to the same extents. Throws ashlar::error if the number of
/// heads does not divide the number of channels.
constexpr auto pixel_attention(std::int64_t channels, std::int64_t heads) {
  return detail::projected_attention("nn::pixel_attention", channels, heads, attention_mask::none,
                                     "channels");
}

/// Returns multi-head attention of the pixels of an image to its context, with its projections.
/// Maps [batch, height, width, channels] to the same extents. Throws ashlar::error if the number of
/// heads does not divide the number of channels.
constexpr auto pixel_cross_attention(std::int64_t channels, std::int64_t heads,
                                     context_size const& context) {
  return detail::projected_context_attention("nn::pixel_cross_attention", channels, heads, context);
}

/// Returns multi-head self-attention among the pixels of images [batch, channels, height, width].
/// Throws ashlar::error if the number of heads does not divide the number of channels.
constexpr auto image_attention(std::int64_t channels, std::int64_t heads) {
  return chain(channels_last(),
               detail::projected_attention("nn::image_attention", channels, heads,
                                           attention_mask::none, "channels"),
               channels_first());
}

/// Returns multi-head attention of the pixels of images [batch, channels, height, width] to their
/// contexts. Throws ashlar::error if the number of heads does not divide the number of channels.
constexpr auto cross_attention(std::int64_t channels, std::int64_t heads,
                               context_size const& context) {
  return chain(channels_last(),
               detail::projected_context_attention("nn::cross_attention", channels, heads, context),
               channels_first());
}

}  // namespace ashlar::nn
