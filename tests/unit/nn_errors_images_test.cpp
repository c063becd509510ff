// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the error messages of image layers and recommendation layers that are invalid or do not fit
// their input.

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/nn/alexnet.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/group_norm.hpp>
#include <ashlar/nn/image_attention.hpp>
#include <ashlar/nn/upsample.hpp>
#include <ashlar/nn/vgg.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

template <class Layer>
std::string described(Layer const& layer, ashlar::shape const& x) {
  return message_of([&] { nn::describe(layer, x, 1); });
}

}  // namespace

TEST_CASE("impossible windows") {
  CHECK(message_of([] { nn::convolution(3, 4, 0); }) ==
        "nn::convolution: the window and its stride must be 1 or more.");
  CHECK(message_of([] { nn::convolution(3, 4, 3, {.stride = 0}); }) ==
        "nn::convolution: the window and its stride must be 1 or more.");
  for (std::int64_t padding : {-1, 3})
    CHECK(message_of([=] { nn::convolution(3, 4, 3, {.padding = padding}); }) ==
          "nn::convolution: the padding must be 0 or more and less than the window, so that every "
          "window sees at least one element.");
  for (auto const& [in, out] : {std::pair{0, 4}, {3, 0}, {-3, 4}})
    CHECK(message_of([in = in, out = out] { nn::convolution(in, out, 3); }) ==
          "nn::convolution: the numbers of channels must be 1 or more.");
  CHECK(message_of([] { nn::max_pool(2, {.stride = -1}); }) ==
        "nn::max_pool: the window and its stride must be 1 or more.");
  CHECK(message_of([] { nn::average_pool(2, {.padding = 2}); }) ==
        "nn::average_pool: the padding must be 0 or more and less than the window, so that every "
        "window sees at least one element.");
}

TEST_CASE("groups of channels and factors that do not exist") {
  for (auto const& [channels, groups] : {std::pair{6, 4}, {6, 0}, {0, 1}, {2, 4}})
    CHECK(message_of([channels = channels, groups = groups] {
            nn::group_norm(channels, groups);
          }) == "nn::group_norm: " + std::to_string(groups) + " groups do not divide " +
                    std::to_string(channels) + " channels. Choose a number of groups that does.");
  CHECK(message_of([] { nn::upsample(0); }) == "nn::upsample: the factor must be 1 or more.");
}

TEST_CASE("attention of images and contexts that do not fit") {
  CHECK(message_of([] { nn::image_attention(6, 4); }) ==
        "nn::image_attention: 4 heads do not divide 6 channels. Choose a number of heads that "
        "does.");
  CHECK(message_of([] {
          nn::cross_attention(6, 0, {3, 4});
        }) ==
        "nn::cross_attention: 0 heads do not divide 6 channels. Choose a number of heads that "
        "does.");
  CHECK(message_of([] { nn::pixel_attention(6, 4); }) ==
        "nn::pixel_attention: 4 heads do not divide 6 channels. Choose a number of heads that "
        "does.");
  CHECK(message_of([] {
          nn::pixel_cross_attention(6, 4, {3, 4});
        }) ==
        "nn::pixel_cross_attention: 4 heads do not divide 6 channels. Choose a number of heads "
        "that does.");
  for (nn::context_size const size : {nn::context_size{0, 4}, {3, 0}})
    CHECK(message_of([=] { nn::context_attention{size}; }) ==
          "nn::context_attention: the context must have a length and a width of 1 or more.");
  CHECK(described(nn::context_attention({3, 4}), {2, 5, 6}) ==
        "nn::context_attention: the input is 2x5x6 but must be queries, [batch, seq, heads, "
        "head_dim], or [batch, height, width, heads, head_dim] for images.");
  CHECK(described(nn::channels_last(), {2, 6}) ==
        "nn::channels_last: the input is 2x6 but must be images, [batch, channels, height, "
        "width].");
  CHECK(described(nn::channels_first(), {2, 6, 2}) ==
        "nn::channels_first: the input is 2x6x2 but must be images, [batch, height, width, "
        "channels].");
  CHECK(described(nn::chain(nn::cross_attention(4, 2, {3, 4}), nn::cross_attention(4, 2, {3, 5})),
                  {2, 4, 3, 3}) ==
        "nn::describe: element 2 (context_attention) reads a context of 2x3x4, but another one "
        "reads 2x3x5. A batch has one context, so give them the same extents.");
  CHECK(described(nn::chain(nn::embedding(7, 4), nn::linear<1, 2>({4}, {2, 2}),
                            nn::context_attention({3, 4})),
                  {2, 5}) == "nn::describe: the inputs of the net are ids, but a layer reads a "
                             "context of numbers. Contexts "
                             "follow the input of nets whose inputs are numbers.");
}

TEST_CASE("images that do not fit") {
  CHECK(described(nn::group_norm(6, 3), {2, 5, 8, 8}) ==
        "nn::group_norm: the input is 2x5x8x8 but the layer takes 6 channels in dim 1.");
  CHECK(described(nn::group_norm(6, 3), {2, 6, 8}) ==
        "nn::group_norm: the input is 2x6x8 but must be images, [batch, channels, height, width].");
  CHECK(described(nn::upsample(2), {2, 6}) ==
        "nn::upsample: the input is 2x6 but must be images, [batch, channels, height, width].");
  CHECK(described(nn::convolution(3, 4, 3), {2, 5, 8, 8}) ==
        "nn::convolution: the input is 2x5x8x8 but the layer takes 3 channels in dim 1.");
  CHECK(described(nn::convolution(3, 4, 3), {2, 3, 64}) ==
        "nn::convolution: the input is 2x3x64 but must be images, [batch, channels, height, "
        "width].");
  CHECK(described(nn::convolution(3, 4, 5, {.padding = 1}), {2, 3, 2, 8}) ==
        "nn::convolution: a window of 5 with padding 1 does not fit into the images of 2x3x2x8.");
  CHECK(described(nn::max_pool(3), {2, 3, 8, 2}) ==
        "nn::max_pool: a window of 3 with padding 0 does not fit into the images of 2x3x8x2.");
  CHECK(described(nn::average_pool(3), {2, 3}) ==
        "nn::average_pool: the input is 2x3 but must be images, [batch, channels, height, "
        "width].");
  CHECK(described(nn::max_pool(2), {1, 1, 65536, 65536}) ==
        "nn::max_pool: an image of 1x1x65536x65536 has too many pixels.");
  CHECK(described(nn::flatten(), {3}) ==
        "nn::flatten: the input is 3 but must have 2 dims or more.");
}

TEST_CASE("images without pixels") {
  for (ashlar::shape const x : {ashlar::shape{2, 3, 0, 8}, {2, 3, 8, 0}}) {
    auto const said = [&](auto const& layer) { return message_of([&] { layer.spec(x); }); };
    auto const fault = [&](char const* layer, char const* window) {
      return std::string(layer) + ": a window of " + window + " does not fit into the images of " +
             to_string(x) + ".";
    };
    CHECK(said(nn::convolution(3, 4, 3, {.padding = 2})) ==
          fault("nn::convolution", "3 with padding 2"));
    CHECK(said(nn::max_pool(2, {.padding = 1})) == fault("nn::max_pool", "2 with padding 1"));
    CHECK(said(nn::average_pool(1)) == fault("nn::average_pool", "1 with padding 0"));
  }
}

TEST_CASE("nets whose images are too small") {
  CHECK(message_of([] { nn::vgg13({.image = 31}); }) ==
        "nn::vgg: images of 31 rows cannot be halved five times. Use 32 rows or more.");
  CHECK(message_of([] { nn::alexnet({.image = 62}); }) ==
        "nn::alexnet: images of 62 rows leave no pixels for the last layers. Use 63 rows or more.");
  CHECK(message_of([] {
          nn::describe(nn::alexnet({.image = 63}), nn::image_batch{1, 3, 63, 63});
        }) == "nothing was thrown");
}

TEST_CASE("layers of recommendation models") {
  CHECK(described(nn::embedding_tables(3, 5, 4), {2, 4}) ==
        "nn::embedding_tables: the input is 2x4 but must be [batch, 3 tables].");
  std::string const pairs = " but must be [batch, vectors, features], with 2 vectors or more.";
  CHECK(described(nn::interaction(), {2, 4}) == "nn::interaction: the input is 2x4" + pairs);
  CHECK(described(nn::interaction(), {2, 1, 4}) == "nn::interaction: the input is 2x1x4" + pairs);
  CHECK(described(nn::bottom_mlp(13, {8, 4}), {2, 3, 5}) ==
        "nn::bottom_mlp: the input is 2x3x5 but must be [batch, vectors, 4 features].");
  CHECK(message_of([] { nn::bottom_mlp(13, {}); }) ==
        "nn::bottom_mlp: it has 0 layers, but must have 1 to 4.");
  CHECK(message_of([] {
          nn::bottom_mlp(13, {1, 2, 3, 4, 5});
        }) == "nn::bottom_mlp: it has 5 layers, but must have 1 to 4.");
  std::string const possible = " features must have 1 or more of both, and at most 2^53 weights.";
  CHECK(message_of([] { nn::bottom_mlp(0, {4}); }) ==
        "nn::bottom_mlp: a layer from 0 to 4" + possible);
  CHECK(message_of([] {
          nn::bottom_mlp(3, {4, -2});
        }) == "nn::bottom_mlp: a layer from 4 to -2" + possible);
  CHECK(message_of([] {
          nn::bottom_mlp(3, {4, 0, 2});
        }) == "nn::bottom_mlp: a layer from 4 to 0" + possible);
  CHECK(has(message_of([] { nn::bottom_mlp(INT64_MAX, {1}); }), possible));
  CHECK(has(message_of([] { nn::bottom_mlp(std::int64_t{1} << 40, {1 << 14}); }), possible));
}

}  // namespace ashlar_test
