// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests that every stage of a pipeline reads the context of each micro-batch: losses and gradient
// norms have the same bits as on a mesh of the ranks of one stage, with the same placements.
// Contexts are never sent between stages.

#include <algorithm>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/group_norm.hpp>
#include <ashlar/nn/image_attention.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/nn/segment.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/pipeline/text.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

auto const attentive = nn::chain(
    nn::convolution(2, 4, 1),
    nn::repeat(4, nn::residual(nn::chain(nn::group_norm(4, 2), nn::cross_attention(4, 2, {3, 5})))),
    nn::convolution(4, 2, 1), nn::mean_squared_error());

template <class Model>
std::vector<double> steps_of(nn::image_batch const& batch, Model& model) {
  train::trainer trainer(model, train::adam_w{.lr = 0.01});
  std::vector<double> all;
  for (unsigned step = 0; step < 3; ++step) {
    auto const report = trainer.step(data_for<double>(attentive, batch, 0, 1, step));
    all.push_back(report.loss);
    all.push_back(report.gradient_norm);
  }
  return all;
}

}  // namespace

TEST_CASE("every stage reads the context of the micro-batch on which it works") {
  int const stages = world_size(), m = stages + 1;
  nn::image_batch const batch{3, 2, 2, 3, m};
  auto const problem = any_length(nn::describe<double>(attentive, batch));
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", stages}});
  ashlar::topology const one{{"stage", 1}};
  ashlar::mesh const alone(MPI_COMM_SELF, one);
  auto const chosen = plan_source(problem, one, whole.machine()).whole();
  auto const limits = search::stage_limits(problem, search::find_blocks(problem), stages);
  auto serial = nn::place<double>(attentive, alone, chosen, 5);
  auto const expected = steps_of(batch, serial);
  for (auto const& order : {pipelines::one_f_one_b(stages, m), pipelines::eager(stages, m)})
    for (int const recomputed : {0, 1}) {
      CAPTURE(to_string(order));
      auto plan = search::price_pipeline(
          problem, chosen, limits, std::vector<int>(static_cast<std::size_t>(stages), recomputed),
          0, m, whole.machine());
      plan.order = order;
      auto staged = nn::place<double>(attentive, whole, plan, 5);
      CHECK(staged.inputs() == 3 * (2 * 2 * 3 + 3 * 5));
      CHECK(steps_of(batch, staged) == expected);
      auto const data = data_for<double>(attentive, batch, 0, 1, 9);
      auto const n = static_cast<std::size_t>(staged.inputs());
      CHECK(staged.predict(std::span(data.inputs).first(n)) ==
            serial.predict(std::span(data.inputs).first(n)));
    }
}

TEST_CASE("a batch without its context is refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = any_length(nn::describe<double>(attentive, nn::image_batch{3, 2, 2, 3}));
  auto model = nn::place<double>(attentive, m, plan_source(problem, m).whole(), 5);
  std::vector<double> const images(3 * 2 * 2 * 3), targets(images.size());
  CHECK(message_of([&] { model.accumulate(images, targets, 0); }) ==
        "model: 36 inputs for a micro-batch of 3x2x2x3 followed by a context of 3x3x5.");
  train::trainer trainer(model, train::adam_w{});
  CHECK(message_of([&] {
          trainer.step({images, targets});
        }) == "trainer: a step takes 81 inputs and 36 targets, but was given 36 and 36.");
}

}  // namespace ashlar_test
