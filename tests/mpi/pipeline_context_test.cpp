// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests that every stage of a pipeline reads the context of each micro-batch itself, so contexts
// are never sent between stages. Losses and gradient norms must have the same bits as on one rank.
// One net is a chain of cross-attentions. The other net is a small U-Transformer, whose skips cross
// the cuts between stages.

#include <algorithm>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/repeat.hpp>
#include <ashlar/nn/u_transformer.hpp>
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

auto const u_shaped = nn::u_transformer(nn::u_transformer_options<2>{
    .channels = {4, 4}, .heads = 2, .groups = 2, .context = {2, 3}, .image_channels = 2});

template <class Net, class Model>
std::vector<double> steps_of(Net const& net, nn::image_batch const& batch, Model& model) {
  train::trainer trainer(model, train::adam_w{.lr = 0.01});
  std::vector<double> all;
  for (unsigned step = 0; step < 3; ++step) {
    auto const report = trainer.step(data_for<double>(net, batch, 0, 1, step));
    all.push_back(report.loss);
    all.push_back(report.gradient_norm);
  }
  return all;
}

/// Trains the net in a pipeline, with one stage per rank, and on one rank. Checks that losses,
/// gradient norms and predictions are equal bit for bit, under two schedules, with and without
/// recomputation. `context` is the number of values of a micro-batch's context. Stage s has the
/// elements from limits[s] up to, but without, limits[s + 1].
template <class Net>
void check_stages(Net const& net, std::int64_t context, std::vector<int> const& limits,
                  search::problem const& problem, nn::image_batch const& batch) {
  int const stages = world_size(), m = batch.micro_batches;
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", stages}});
  ashlar::topology const one{{"stage", 1}};
  ashlar::mesh const alone(MPI_COMM_SELF, one);
  auto const chosen = plan_source(problem, one, whole.machine()).whole();
  auto serial = nn::place<double>(net, alone, chosen, 5);
  auto const expected = steps_of(net, batch, serial);
  for (auto const& order : {pipelines::one_f_one_b(stages, m), pipelines::eager(stages, m)})
    for (int const recomputed : {0, 1}) {
      CAPTURE(to_string(order));
      std::vector<int> segments;
      for (std::size_t s = 0; s + 1 < limits.size(); ++s)
        segments.push_back(
            std::min(recomputed, search::stage_of(problem, limits[s], limits[s + 1], 1).segments));
      auto plan = search::price_pipeline(problem, chosen, limits, segments, 0, m, whole.machine());
      plan.order = order;
      auto staged = nn::place<double>(net, whole, plan, 5);
      CHECK(staged.inputs() == batch.extents().elements() + context);
      CHECK(steps_of(net, batch, staged) == expected);
      auto const data = data_for<double>(net, batch, 0, 1, 9);
      auto const n = static_cast<std::size_t>(staged.inputs());
      CHECK(staged.predict(std::span(data.inputs).first(n)) ==
            serial.predict(std::span(data.inputs).first(n)));
    }
}

}  // namespace

TEST_CASE("every stage reads the context of the micro-batch on which it works") {
  nn::image_batch const batch{3, 2, 2, 3, world_size() + 1};
  auto const problem = any_length(nn::describe<double>(attentive, batch));
  check_stages(attentive, 3 * 3 * 5,
               search::stage_limits(problem, search::find_blocks(problem), world_size()), problem,
               batch);
}

TEST_CASE("a small U-Transformer whose skips cross cuts trains as on one rank") {
  nn::image_batch const batch{2, 2, 4, 4, world_size() + 1};
  auto const problem = any_length(nn::describe<double>(u_shaped, batch));
  auto const points = search::detail::cutting_points(problem);
  auto const n = points.size() - 1;
  std::vector<int> limits;
  for (int s = 0; s <= world_size(); ++s)
    limits.push_back(
        points[n * static_cast<std::size_t>(s) / static_cast<std::size_t>(world_size())]);
  check_stages(u_shaped, 2 * 2 * 3, limits, problem, batch);
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
        }) == "trainer: on rank 0: a step takes 81 inputs and 36 targets, but was given 36 and "
              "36. The last 45 inputs of each micro-batch are its context.");
}

}  // namespace ashlar_test
