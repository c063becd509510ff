// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that networks have the numbers of parameters that their papers publish. Also tests the
// number of operations of a step of GPT-2.

#include <cmath>

#include <doctest/doctest.h>

#include <ashlar/nn/alexnet.hpp>
#include <ashlar/nn/bert.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/hidup_models.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/nn/u_transformer.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/step/model_flops.hpp>

namespace nn = ashlar::nn;

namespace {

template <class Net>
constexpr std::int64_t count_images(Net const& net, nn::image_batch const& batch) {
  return nn::parameter_count(nn::describe(net, batch));
}

constexpr nn::image_batch images{1, 3, 224, 224};

static_assert(count_images(nn::vgg13(), images) == 133'047'848);
static_assert(count_images(nn::vgg16(), images) == 138'357'544);
static_assert(count_images(nn::alexnet(), images) == 61'100'840);

// The net is a small VGG. The channels of its convolutions are 3-2-2, 2-4-4, 4-8-8, 8-16-16 and
// 16-16-16, and its dense layers have 16-10-10-5 features.
static_assert(count_images(nn::vgg13({.image = 32, .width = 2, .hidden = 10, .classes = 5}),
                           nn::image_batch{1, 3, 32, 32}) ==
              (3 * 2 + 2 * 2 + 2 * 4 + 4 * 4 + 4 * 8 + 8 * 8 + 8 * 16 + 3 * 16 * 16) * 9 +
                  2 * (2 + 4 + 8 + 16 + 16) + (16 + 1) * 10 + (10 + 1) * 10 + (10 + 1) * 5);

template <class Net>
std::int64_t count(Net const& net, std::int64_t positions) {
  return nn::parameter_count(nn::describe(net, nn::token_batch{1, positions}));
}

}  // namespace

TEST_CASE("BERT-large, except for the parts listed in nn/bert.hpp") {
  std::int64_t const published = 336'226'108;  // this includes both heads for pre-training
  std::int64_t const segments = 2 * 1024, pooler = 1024 * 1024 + 1024, next = 2 * 1024 + 2;
  std::int64_t const own_matrix = 1024 * 30522;
  CHECK(count(nn::bert_large(), 512) == published - segments - pooler - next + own_matrix);
  CHECK(count(nn::bert_large(), 512) == 366'426'938);
}

TEST_CASE("GPT-2 and GPT-3") {
  CHECK(count(nn::gpt({}), 1024) == 124'439'808 + 50257 * 768);
  CHECK(count(nn::gpt(nn::gpt_sizes::gpt3), 2048) ==
        96 * (12 * 12288LL * 12288 + 13 * 12288) + (2 * 50257 + 2048 + 2) * 12288LL);
}

TEST_CASE("Llama 2, 3.1 and 3.2") {
  CHECK(count(nn::llama(nn::llama_sizes::llama2_7b), 4096) == 6'738'415'616);
  CHECK(count(nn::llama(nn::llama_sizes::llama3_1_8b), 8192) == 8'030'261'248);
  CHECK(count(nn::tied_llama(nn::llama_sizes::llama3_2_1b), 8192) == 1'235'814'400);
}

TEST_CASE("operations of a step of GPT-2: six a weight and token, and half of the scores") {
  auto const problem = nn::describe(nn::gpt({}), nn::token_batch{8, 1024, 3});
  double const tokens = 3 * 8 * 1024.0;
  double const weights = 12 * (12 * 768.0 * 768) + 768 * 50257.0;
  double const scores = 12 * 3 * (2 * 2 * 1024 * 768.0) / 2;
  CHECK(ashlar::search::model_flops(problem) == doctest::Approx(tokens * (6 * weights + scores)));
}

TEST_CASE("operations of a step of Llama 3.1: query heads count, not key heads") {
  auto const& o = nn::llama_sizes::llama3_1_8b;
  auto const problem = nn::describe(nn::llama(o), nn::token_batch{2, 8192, 3});
  double const tokens = 3 * 2 * 8192.0;
  double const block = 2 * 4096.0 * 4096 + 2 * 4096.0 * (8 * 128) + 3 * 4096.0 * 14336;
  double const weights = 32 * block + 4096 * 128256.0;
  double const scores = 32 * 3 * (2 * 2 * 8192 * 4096.0) / 2;
  CHECK(ashlar::search::model_flops(problem) == doctest::Approx(tokens * (6 * weights + scores)));
  // Without a mask, all scores are computed.
  nn::grouped_attention_core const causal(4, 10000),
      whole(4, 10000, ashlar::nn::attention_mask::none);
  ashlar::shape const x{2, 16, 3, 6 * 8};
  CHECK(causal.spec(x).forward_flops == 2 * 2 * 2 * 16 * 16 * (3 * 4 * 8) / 2);
  CHECK(whole.spec(x).forward_flops == 2 * causal.spec(x).forward_flops);
}

TEST_CASE("operations of convolutions: two for each weight and pixel of the output") {
  auto const spec = nn::convolution(3, 5, 7, {.stride = 2, .padding = 3}).spec({2, 3, 8, 12});
  REQUIRE(spec.y == ashlar::shape{2, 5, 4, 6});
  CHECK(spec.forward_flops == 2 * (5 * 3 * 7 * 7) * (2 * 4 * 6));
  CHECK(spec.backward_flops == 2 * spec.forward_flops);
  // The published number of multiplications of VGG-16, for an image of 224 x 224 pixels.
  auto const problem = nn::describe(nn::vgg16(), images);
  double flops = 0;
  for (int i = 0; i < problem.size(); ++i) flops += problem.spec(i).forward_flops;
  CHECK(flops == 2 * 15'470'264'320.0);
}

TEST_CASE("AutoDDL's Transformers, whose last matrix is the embedding's") {
  auto const billions = [](nn::gpt_options const& o) {
    return static_cast<double>(count(nn::gpt(o), 1024) - o.vocabulary * o.features) * 1e-9;
  };
  CHECK(billions(nn::gpt_sizes::daint_64) == doctest::Approx(6.8).epsilon(0.01));
  CHECK(billions(nn::gpt_sizes::daint_128) == doctest::Approx(16.5).epsilon(0.01));
  CHECK(billions(nn::gpt_sizes::daint_256) == doctest::Approx(35.8).epsilon(0.01));
  for (auto const& o :
       {nn::gpt_sizes::a100_small, nn::gpt_sizes::a100_large, nn::gpt_sizes::pipeline_deep})
    CHECK(o.features % o.heads == 0);
}

TEST_CASE("HiDup's nets with n and 2 n experts: 89 + 19 n and 38 + 38 n million parameters") {
  auto const text = [](int n) {
    return static_cast<double>(count(nn::bert_moe({.experts = n}), 512)) * 1e-6;
  };
  auto const vision = [](int n) {
    ashlar::shape const patches{1, 64, 48};
    return static_cast<double>(
               nn::parameter_count(nn::describe(nn::vit_moe({.experts = 2 * n}), patches, 1))) *
           1e-6;
  };
  double const of_text = (text(8) - text(4)) / 4, of_images = (vision(8) - vision(4)) / 4;
  CHECK(std::round(of_text) == 19);
  CHECK(std::round(text(8) - 8 * of_text) == 89);
  CHECK(std::round(of_images) == 38);
  CHECK(std::round(vision(8) - 8 * of_images) == 38);
}

TEST_CASE("DLRM with MLPerf's layers; most parameters are in the tables") {
  std::int64_t const bottom = 14 * 512 + 513 * 256 + 257 * 128;
  std::int64_t const top = 480 * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257 * 2;
  CHECK(nn::parameter_count(nn::describe(nn::dlrm_described(), nn::category_batch{1, 26})) ==
        26 * 128 * 1'000'000LL + bottom + top);
}

TEST_CASE("the U-Transformer of the paper on cross-mesh resharding") {
  auto const problem = nn::describe(nn::u_transformer(nn::paper_u_transformer),
                                    nn::image_batch{64, 3, 32, 32, 32});
  auto const parameters = nn::parameter_count(problem);
  CHECK(static_cast<double>(parameters) * 1e-9 == doctest::Approx(2.1).epsilon(0.03));
  CHECK(problem.spec(problem.size() - 1).x == ashlar::shape{64, 3, 32, 32});
  CHECK(nn::context_extents(problem) == ashlar::shape{64, 16, 2688});
  CHECK(parameters == 2'060'648'355);
  CHECK(problem.segments == 14 + 10);  // 14 of convolutions, 10 of attention
}

TEST_CASE("a small U-Transformer, counted by hand") {
  nn::u_transformer_options<2> const o{
      .channels = {4, 6}, .heads = 2, .groups = 2, .context = {3, 5}};
  auto const problem = nn::describe(nn::u_transformer(o), nn::image_batch{1, 3, 4, 6});
  auto const convolution = [](int in, int out, int kernel) {
    return in * out * kernel * kernel + out;
  };
  auto const convolutions = [&](int c) { return 2 * (2 * c + convolution(c, c, 3)); };
  auto const attention = [&](int c) {
    int const own = c * 3 * c + 3 * c + c * c + c, other = c * c + c + 5 * 2 * c + c * c + c;
    return 3 * 2 * c + own + other + 8 * c * c + 5 * c;
  };
  int const outer = 3 * (convolutions(4) + attention(4)) + convolution(4, 4, 3) +
                    convolution(6, 6, 3) + convolution(4 + 6, 4, 1) + convolution(4 + 4, 4, 1);
  int const inner = 5 * convolutions(6) + attention(6) + convolution(4, 6, 1) +
                    convolution(6 + 6, 6, 1) + convolution(4 + 6, 6, 1);
  CHECK(nn::parameter_count(problem) ==
        convolution(3, 4, 3) + outer + inner + 2 * 4 + convolution(4, 3, 3));
}
