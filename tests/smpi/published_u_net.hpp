// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The net that the authors of "On Optimizing the Communication of Model Parallelism" measured as
// their U-Transformer: the U-Net of their program (alpa/model/unet_2d.py and suite_unet.py, case
// 2B), with the names that nn/u_transformer.hpp uses for its levels:
//
//   level k      block, skip(halve, level k + 1, double), block
//   innermost    skip(convolutions, skip(convolutions, attention, convolutions), convolutions),
//                convolutions
//
// So each level has one block before and one block after its inner levels, and one skip. Only the
// innermost level has two skips. A block consists of convolutions and attention, where attention
// lies between two convolutions of 1 x 1 and has a gated perceptron. The net has the same levels,
// channels and context as nn::paper_u_transformer, and about as many parameters, but less work.
//
// Three parts of their net are left out: the input for the time step of the diffusion, the 1 x 1
// convolutions beside blocks whose input and output have different numbers of channels (2 % of the
// work), and the gates of the perceptrons, which are replaced by more hidden features of equal
// work.
//
// The cut between their two stages lies before the layers that double the height and width of the
// innermost level's output (published_cut). Each level around the innermost one has a skip that
// crosses the cut.

#include <ashlar/nn/u_transformer.hpp>

namespace ashlar_test {

template <int Levels>
class published_u_net_parts {
 public:
  constexpr explicit published_u_net_parts(ashlar::nn::u_transformer_options<Levels> const& o)
      : o_(o) {}

  /// Returns level K and all levels inside it. Its input has `from` channels.
  template <int K>
  constexpr auto level(std::int64_t from) const {
    using namespace ashlar::nn;
    std::int64_t const c = channels<K>();
    if constexpr (K + 1 == Levels) {
      auto const middle = chain(convolutions(c, c), attention(c), convolutions(c, c));
      return chain(skip(chain(convolutions(from, c), skip(middle), convolutions(2 * c, c))),
                   convolutions(from + c, c));
    } else {
      std::int64_t const inner = channels<K + 1>();
      auto const halve = segment(convolution(c, c, 3, {.stride = 2, .padding = 1}));
      auto const twice = segment(chain(upsample(2), convolution(inner, inner, 3, {.padding = 1})));
      return chain(convolutions(from, c), attention(c), skip(chain(halve, level<K + 1>(c), twice)),
                   convolutions(c + inner, c), attention(c));
    }
  }

 private:
  constexpr auto half(std::int64_t from, std::int64_t to) const {
    using namespace ashlar::nn;
    return chain(group_norm(from, o_.groups), gelu(), convolution(from, to, 3, {.padding = 1}));
  }
  constexpr auto convolutions(std::int64_t from, std::int64_t to) const {
    using namespace ashlar::nn;
    return segment(chain(half(from, to), residual(half(to, to))));
  }
  constexpr auto attention(std::int64_t c) const {
    using namespace ashlar::nn;
    auto const add = [&](auto const& part) { return residual(chain(layer_norm(c), part)); };
    return segment(residual(chain(
        group_norm(c, o_.groups), convolution(c, c, 1), channels_last(),
        add(pixel_attention(c, o_.heads)), add(pixel_cross_attention(c, o_.heads, o_.context)),
        add(perceptron(c, 6 * c)), channels_first(), convolution(c, c, 1))));
  }
  template <int K>
  constexpr std::int64_t channels() const {
    return o_.channels[static_cast<std::size_t>(K)];
  }

  ashlar::nn::u_transformer_options<Levels> o_;
};

/// Returns the net with its loss. Input: image_batch.
template <int Levels>
constexpr auto published_u_net(ashlar::nn::u_transformer_options<Levels> const& o) {
  using namespace ashlar::nn;
  std::int64_t const c = o.channels[0];
  return chain(convolution(o.image_channels, c, 3, {.padding = 1}),
               published_u_net_parts<Levels>(o).template level<0>(c), group_norm(c, o.groups),
               gelu(), convolution(c, o.image_channels, 3, {.padding = 1}), mean_squared_error());
}

/// Returns the cut of the authors' program, in the form in which search::limits_of returns cuts.
/// The second stage begins where the innermost level's output is doubled in height and width.
inline std::vector<int> published_cut(ashlar::search::problem const& net) {
  int first = 0;
  while (net.spec(first).name != "upsample") ++first;
  return {0, first, net.size()};
}

}  // namespace ashlar_test
