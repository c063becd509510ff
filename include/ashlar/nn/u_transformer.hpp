// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A U-Transformer, the net with long skips of section 5.2 of the cross-mesh resharding paper
// (Zhuang et al. 2022): a U-Net with attention after its convolutions. It maps images to images of
// the same extents and ends in a mean squared error. Its levels are nested. Every level works on
// images of half the height and width of the level around it:
//
//   level k      skip(block, skip(halve, level k + 1, double), block), block
//   innermost    skip(block, skip(middle), block), block
//
// A skip concatenates its input with the output of its inner part (skip.hpp). Each level has two
// skips, one inside the other. The output of each skip goes through a block. A block is
//
//   convolutions      x + convolve(gelu(group_norm(convolve(gelu(group_norm(x)))))), 3 x 3
//   and attention     among pixels, attention to the context, then a perceptron, each of the three
//                     as x + f(layer_norm(x))
//
// A convolution of 1 x 1 before a block changes the block's input to the number of channels of the
// level. Only the first block of the outermost level needs no such convolution. The blocks of the
// innermost level have no attention; its middle is convolutions, attention, convolutions.
//
// The context belongs to the batch (context_attention.hpp). Plans may recompute the convolutions
// and the attention of each block (segment.hpp).
//
// The paper says that its net has 2.1 billion parameters, attention after the convolutions of a
// U-Net, and skips from the i-th layer to the i-th from last. The images, channels and context of
// paper_u_transformer are from the program that its authors published with Alpa; with them, the net
// has 2.06 billion parameters. The paper does not give the numbers of heads and groups and the
// sizes of the perceptrons, so we chose them. It does not say whether the net also gets the time
// step of a diffusion; ours does not.

#include <array>
#include <cstddef>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/group_norm.hpp>
#include <ashlar/nn/image_attention.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/segment.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/nn/upsample.hpp>

namespace ashlar::nn {

/// The extents of a U-Transformer with the given number of levels.
template <int Levels>
struct u_transformer_options {
  /// The number of channels of each level.
  std::array<std::int64_t, static_cast<std::size_t>(Levels)> channels;
  std::int64_t heads = 8;
  /// Groups of channels in group norms; must divide the channels of every level.
  std::int64_t groups = 32;
  context_size context;
  std::int64_t image_channels = 3;
};

/// The net of the paper, for images of 3 x 32 x 32.
inline constexpr u_transformer_options<4> paper_u_transformer{.channels = {672, 1344, 2688, 2688},
                                                              .context = {16, 2688}};

namespace detail {

/// The parts of a U-Transformer.
template <int Levels>
class u_transformer_parts {
 public:
  constexpr explicit u_transformer_parts(u_transformer_options<Levels> const& o) : o_(o) {}

  /// Returns the two convolutions of a block with their norms (see above), for a block whose input
  /// and output have equally many channels.
  constexpr auto convolutions(std::int64_t channels) const {
    auto const half = [&] {
      return chain(group_norm(channels, o_.groups), gelu(),
                   convolution(channels, channels, 3, {.padding = 1}));
    };
    return segment(residual(chain(half(), half())));
  }
  /// Returns the three residuals that follow the convolutions of a block (see above): attention
  /// among pixels, attention to the context, and a perceptron.
  constexpr auto attention(std::int64_t channels) const {
    auto const add = [&](auto const& part) { return residual(chain(layer_norm(channels), part)); };
    return segment(chain(channels_last(), add(pixel_attention(channels, o_.heads)),
                         add(pixel_cross_attention(channels, o_.heads, o_.context)),
                         add(perceptron(channels, 4 * channels)), channels_first()));
  }
  /// Returns a block of level K, whose input has `from` channels. If `Widens` is false, `from` must
  /// be the number of channels of the level.
  template <int K, bool Widens>
  constexpr auto block(std::int64_t from) const {
    std::int64_t const c = channels<K>();
    auto const whole = [&] {
      if constexpr (K + 1 == Levels) return convolutions(c);
      else return chain(convolutions(c), attention(c));
    }();
    if constexpr (Widens) return chain(convolution(from, c, 1), whole);
    else return whole;
  }
  /// Returns level K and all levels inside it. The input of level K has `from` channels.
  template <int K>
  constexpr auto level(std::int64_t from) const {
    std::int64_t const c = channels<K>();
    auto const inside = [&] {
      if constexpr (K + 1 == Levels) {
        return chain(convolutions(c), attention(c), convolutions(c));
      } else {
        std::int64_t const inner = channels<K + 1>();
        return chain(convolution(c, c, 3, {.stride = 2, .padding = 1}), level<K + 1>(c),
                     upsample(2), convolution(inner, inner, 3, {.padding = 1}));
      }
    }();
    constexpr int next = K + 1 < Levels ? K + 1 : K;
    std::int64_t const made = channels<next>();
    return chain(skip(chain(block<K, (K > 0)>(from), skip(inside), block<K, true>(c + made))),
                 block<K, true>(from + c));
  }

 private:
  template <int K>
  constexpr std::int64_t channels() const {
    return o_.channels[static_cast<std::size_t>(K)];
  }

  u_transformer_options<Levels> o_;
};

}  // namespace detail

/// Returns a U-Transformer with its loss. Input: image_batch, whose height and width are multiples
/// of 2^(Levels - 1). The targets are images of the same extents. Throws ashlar::error if heads or
/// groups do not divide the channels of a level.
template <int Levels>
constexpr auto u_transformer(u_transformer_options<Levels> const& o) {
  detail::u_transformer_parts<Levels> const parts(o);
  std::int64_t const c = o.channels[0];
  return chain(convolution(o.image_channels, c, 3, {.padding = 1}), parts.template level<0>(c),
               group_norm(c, o.groups), gelu(), convolution(c, o.image_channels, 3, {.padding = 1}),
               mean_squared_error());
}

}  // namespace ashlar::nn
