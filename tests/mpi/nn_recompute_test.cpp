// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests plans that recompute segments of the network in the backward pass. Losses and gradients
// must be bitwise unchanged, and the memory must decrease as the plan predicts.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

/// Returns the loss and the gradients of a step under a plan.
template <class Net, class Data>
std::pair<double, whole_parameters> step_of(Net const& net, ashlar::mesh const& m,
                                            search::plan const& plan, Data const& data) {
  auto model = nn::place<double>(net, m, plan, 3);
  double const loss = accumulate_step(model, data);
  return {loss, gradients_of(model)};
}

/// Checks that random plans give bitwise equal results with any number of recomputed segments.
template <class Input, class Net, class Batch>
void check_equal(Net const& net, Batch const& batch, int vocabulary, int classes, int segments) {
  auto const problem = any_length(nn::describe<double>(net, batch));
  REQUIRE(problem.segments == segments);
  auto const data = random_batch<Input>(batch, vocabulary, classes, 1);
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    plan_source const plans(problem, m);
    std::mt19937 random(1);
    for (int i = 0; i < 2; ++i) {
      auto plan = plans.random(random);
      plan.recomputed = 0;
      auto const expected = step_of(net, m, plan, data);
      for (plan.recomputed = 1; plan.recomputed <= segments; ++plan.recomputed) {
        CAPTURE(describe(problem, plan));
        auto const found = step_of(net, m, plan, data);
        CHECK(found.first == expected.first);
        CHECK(found.second == expected.second);
      }
    }
  }
}

/// Returns the peak memory of tensors during the second of two steps (the maximum over all ranks).
template <class Model, class Data>
std::int64_t measured_peak(Model& model, ashlar::mesh const& m, Data const& data) {
  accumulate_step(model, data);
  m.memory().reset_peak();
  accumulate_step(model, data);
  auto peak = static_cast<std::int64_t>(m.memory().peak_bytes());
  MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return peak;
}

/// Compares predicted and measured memory for increasing numbers of recomputed segments.
template <class Input, class Net, class Batch>
void check_memory(Net const& net, Batch const& batch, int vocabulary, int classes) {
  auto const problem = any_length(nn::describe<double>(net, batch, 0));  // without optimizer states
  auto const data = random_batch<Input>(batch, vocabulary, classes, 1);
  auto const& priced = ashlar::machines::workstation;
  for (auto const& t : topologies(world_size())) {
    if (t.axes() > 2) continue;
    for (auto plan : {search::data_parallel(problem, t, priced), search::zero_3(problem, t, priced),
                      search::tensor_parallel(problem, t, priced)}) {
      std::int64_t before = 0;
      for (plan.recomputed = 0; plan.recomputed <= problem.segments; plan.recomputed += 2) {
        predict(plan, problem, priced);
        ashlar::mesh const m(MPI_COMM_WORLD, t);
        auto model = nn::place<double>(net, m, plan);
        auto const measured = measured_peak(model, m, data);
        CAPTURE(describe(problem, plan));
        CAPTURE(plan.memory);
        CAPTURE(measured);
        CHECK(double(measured) <= 1.1 * double(plan.memory));
        CHECK(double(measured) >= 0.6 * double(plan.memory));
        if (plan.recomputed > 0 && plan.recomputed < problem.segments) CHECK(measured < before);
        before = measured;
      }
    }
  }
}

}  // namespace

TEST_CASE("a GPT with dropout whose blocks are recomputed") {
  auto const gpt = [](int blocks, std::int64_t features, std::int64_t words) {
    return nn::chain(nn::embedding(words, features),
                     nn::repeat(blocks, nn::gpt_block(features, 3, 0.3)),
                     nn::linear(features, words));
  };
  check_equal<std::int32_t>(gpt(3, 6, 11), nn::token_batch{4, 5, 2}, 11, 11, 3);
  check_memory<std::int32_t>(gpt(5, 24, 60), nn::token_batch{8, 32}, 60, 60);
}

TEST_CASE("images, and segments by hand, one of them within another") {
  auto const stage = [](std::int64_t in, std::int64_t out) {
    return nn::segment(
        nn::chain(nn::convolution(in, out, 3, {.padding = 1}), nn::relu(), nn::max_pool(2)));
  };
  check_equal<double>(nn::chain(nn::segment(nn::chain(stage(2, 4), nn::dropout(0.2))), stage(4, 3),
                                nn::flatten(), nn::repeat<2>(nn::linear(12, 12)),
                                nn::linear(12, 5)),
                      nn::image_batch{4, 2, 8, 8, 2}, 0, 5, 4);
}

TEST_CASE("skips around segments and within them") {
  auto const level = [](std::int64_t channels, auto const& inner) {
    return nn::chain(nn::skip(inner), nn::convolution(2 * channels, channels, 1));
  };
  auto const block = [](std::int64_t channels) {
    return nn::repeat<2>(nn::chain(nn::convolution(channels, channels, 3, {.padding = 1}),
                                   nn::skip(nn::relu()),
                                   nn::convolution(2 * channels, channels, 1)));
  };
  auto const net = [&](std::int64_t channels, std::int64_t features) {
    return nn::chain(nn::convolution(2, channels, 3, {.padding = 1}),
                     level(channels, nn::chain(block(channels), level(channels, block(channels)))),
                     nn::max_pool(2), nn::flatten(), nn::linear(features, 5));
  };
  check_equal<double>(net(3, 3 * 4), nn::image_batch{4, 2, 4, 4, 2}, 0, 5, 4);
  check_memory<double>(net(8, 8 * 64), nn::image_batch{8, 2, 16, 16}, 0, 5);
}

TEST_CASE("the memory of a small VGG") {
  check_memory<double>(nn::vgg13({.image = 32, .width = 4, .hidden = 16, .classes = 5}),
                       nn::image_batch{8, 3, 32, 32}, 0, 5);
}

}  // namespace ashlar_test
