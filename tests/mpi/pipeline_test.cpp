// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3 4 6 8

// Tests that a net trains in pipeline stages as it trains on one stage that has the same placements
// and as many ranks as a stage of the pipeline. Losses, gradient norms and parameters must have the
// same bits. If a sum has other addends or another order (sums_as_one_stage), they must agree
// within rounding. Most nets have dropout, and gradients are clipped.

#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/staged_nets.hpp>

#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

auto const pipelined_gpt = nn::chain(nn::embedding(7, 6), nn::repeat(3, nn::gpt_block(6, 3, 0.2)),
                                     nn::layer_norm(6), nn::linear(6, 7));
/// The same net as above, but its last layer shares the embedding's table.
auto const tied_gpt = nn::tied(nn::embedding(7, 6), nn::repeat(3, nn::gpt_block(6, 3, 0.2)),
                               nn::layer_norm(6), nn::output_embedding(6, 7));

/// Skips of different lengths: nested, around residuals, inside segments and around segments.
auto const pipelined_skips = nn::chain(
    nn::embedding(7, 4),
    nn::skip<2>(nn::chain(
        nn::linear(4, 3), nn::dropout(0.2),
        nn::skip<2>(nn::chain(nn::segment(nn::gelu()), nn::residual(nn::linear(3, 3)))),
        nn::segment(nn::chain(nn::linear(6, 2), nn::skip<2>(nn::linear(2, 2)), nn::gelu())))),
    nn::layer_norm(8), nn::linear(8, 7));

std::vector<pipelines::schedule> schedules_of(int positions, int m) {
  std::vector<pipelines::schedule> list{
      pipelines::gpipe(positions, m), pipelines::one_f_one_b(positions, m),
      pipelines::eager(positions, m), pipelines::zb_h1(positions, m),
      pipelines::zb_h2(positions, m), pipelines::zb_v(positions, m)};
  if (m % positions == 0) list.push_back(pipelines::interleaved(positions, m, 2));
  return list;
}

/// Returns a plan for two micro-batches under 1F1B. Each rank has one stage. The cuts between the
/// stages are random.
search::pipeline_plan one_rank_a_stage(search::problem const& net, ashlar::machine const& m) {
  int const n = world_size();
  std::mt19937 random(3);
  return search::price_pipeline(net, plan_source(net, {{"stage", 1}, {"gpu", 1}}, m).whole(),
                                random_limits(net, n, random),
                                std::vector<int>(static_cast<std::size_t>(n)), 0, 2, m);
}

/// Trains two steps. Returns the losses and the gradient norms.
template <class Batch, class Model>
std::vector<double> trained(Batch const& batch, Model& model) {
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 0.5});
  std::vector<double> all;
  for (unsigned step = 0; step < 2; ++step) {
    using input = std::conditional_t<Batch::holds_tokens, std::int32_t, double>;
    auto const report = trainer.step(random_batch<input>(batch, 7, 7, step, 4));
    all.push_back(report.loss);
    all.push_back(report.gradient_norm);
  }
  return all;
}

/// Trains a net in random stages under several schedules, and on one stage, and compares the
/// results.
template <class Net, class Batch>
void check_training(Net const& net, Batch batch, unsigned seed) {
  std::mt19937 random(seed);
  int turn = 0;
  for (int positions = 2; positions <= world_size(); ++positions) {
    if (world_size() % positions != 0) continue;
    int const q = world_size() / positions;
    ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", positions}, {"gpu", q}});
    ashlar::topology const one{{"stage", 1}, {"gpu", q}};
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() / q, world_rank() % q, &own);
    {
      ashlar::mesh const alone(own, one);
      for (int const m : {positions, positions + 1}) {
        batch.micro_batches = m;
        auto const problem = any_length(nn::describe<double>(net, batch));
        plan_source const plans(problem, one, whole.machine());
        for (auto const& order : schedules_of(positions, m)) {
          CAPTURE(positions);
          CAPTURE(to_string(order));
          auto const units = search::detail::cutting_points(problem).size() - 1;
          if (static_cast<std::size_t>(order.stages()) > units) continue;
          // With more ranks than cores, each case takes long. So on 6 ranks only every 6th case
          // runs, and on 8 ranks only every 10th.
          if (world_size() > 4 && turn++ % (2 * world_size() - 6) != 0) continue;
          auto const chosen = plans.random(random);
          auto const limits = random_limits(problem, order.stages(), random);
          std::vector<int> recomputed;
          for (int s = 0; s < order.stages(); ++s)
            recomputed.push_back(
                static_cast<int>(random() % 2) &
                static_cast<int>(search::stage_of(problem, limits[static_cast<std::size_t>(s)],
                                                  limits[static_cast<std::size_t>(s) + 1], 1)
                                     .segments > 0));
          auto plan = search::price_pipeline(problem, chosen, limits, recomputed, 0, m,
                                             whole.machine());
          plan.order = order;
          auto staged = nn::place<double>(net, whole, plan, 5);
          auto serial = nn::place<double>(net, alone, chosen, 5);
          auto const program = staged.program();
          auto const fault = ashlar::search::check(program);
          INFO(to_string(fault, program));
          REQUIRE(!fault.found());
          bool const same_bits = sums_as_one_stage(problem, chosen, limits, positions);
          CAPTURE(same_bits);
          auto const a = trained(batch, staged), b = trained(batch, serial);
          for (std::size_t k = 0; k < a.size(); ++k) CHECK(near(a[k], b[k], 1e-12));
          if (same_bits) CHECK(a == b);
          CHECK(gap_of_parameters(staged, serial) <= (same_bits ? 0 : 1e-9));
        }
      }
    }
    MPI_Comm_free(&own);
  }
}

/// Compares the predictions and losses of a pipeline with those of one stage.
template <class Net>
void check_outputs(Net const& net) {
  int const n = world_size();
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", n}, {"gpu", 1}}),
      alone(MPI_COMM_SELF, {{"gpu", 1}});
  nn::token_batch const batch{3, 4, 2};
  auto const problem = any_length(nn::describe<double>(net, batch));
  auto const plan = one_rank_a_stage(problem, whole.machine());
  auto staged = nn::place<double>(net, whole, plan, 5);
  auto serial = nn::place<double>(net, alone, plan_source(problem, alone).whole(), 5);
  auto const data = random_batch<std::int32_t>(nn::token_batch{3, 4, 1}, 7, 7, 1, 4);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(staged.predict(data.inputs) == serial.predict(data.inputs));
    CHECK(staged.evaluate(data.inputs, data.targets) == serial.evaluate(data.inputs, data.targets));
  }
  CHECK(staged.parameter_count() == serial.parameter_count());
}

}  // namespace

TEST_CASE("stages of a pipeline train as one stage does, bit for bit") {
  check_training(pipelined_gpt, nn::token_batch{3, 4}, 11);
}

TEST_CASE("so do stages with tied embeddings") {
  check_training(tied_gpt, nn::token_batch{3, 4}, 12);
}

TEST_CASE("so do stages between which skips pass") {
  check_training(pipelined_skips, nn::token_batch{3, 4}, 5);
}

TEST_CASE("so do stages of a net of images that begins and ends with skips") {
  auto const inner = nn::skip(nn::chain(nn::convolution(1, 3, 3, {.padding = 1}), nn::relu()));
  check_training(
      nn::chain(nn::skip(nn::chain(nn::convolution(2, 1, 1), inner, nn::convolution(4, 3, 1))),
                nn::flatten(), nn::skip(nn::linear(30, 4)), nn::linear(34, 3),
                nn::skip(nn::linear(3, 4))),
      nn::image_batch{3, 2, 2, 3}, 7);
}

TEST_CASE("a pipeline's output and loss are those of one stage, on every rank") {
  check_outputs(pipelined_gpt);
  check_outputs(pipelined_skips);
  check_outputs(tied_gpt);
}

TEST_CASE(
    "two stages on one part of the mesh, in a plan without an axis, train as one stage does") {
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"gpu", world_size()}});
  nn::token_batch const batch{3, 4, 2};
  auto const problem = any_length(nn::describe<double>(pipelined_gpt, batch));
  auto const chosen = plan_source(problem, whole).whole();
  std::mt19937 random(4);
  auto const limits = random_limits(problem, 2, random);
  for (auto const& order : {pipelines::interleaved(1, 2, 2), pipelines::zb_v(1, 2)}) {
    CAPTURE(to_string(order));
    auto const plan = search::price_pipeline(problem, chosen, limits, {0, 0}, -1, 2,
                                             whole.machine(), order);
    auto staged = nn::place<double>(pipelined_gpt, whole, plan, 5);
    auto serial = nn::place<double>(pipelined_gpt, whole, chosen, 5);
    auto const a = trained(batch, staged), b = trained(batch, serial);
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(near(a[k], b[k], 1e-12));
  }
}

TEST_CASE("a stage recomputes what its entry in the plan says") {
  int const n = world_size();
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", n}, {"gpu", 1}});
  auto const problem = any_length(nn::describe<double>(pipelined_gpt, nn::token_batch{3, 4, 2}));
  auto plan = one_rank_a_stage(problem, whole.machine());
  int all = 0;
  for (auto& s : plan.stages)
    all += s.recomputed = search::stage_of(problem, s.first, s.last, 1).segments > 0;
  REQUIRE(all > 0);
  REQUIRE(plan.chosen.recomputed == 0);  // the loop above changed only the stages
  auto const model = nn::place<double>(pipelined_gpt, whole, plan, 5);
  CHECK(model.plan().recomputed == all);
  int again = 0;
  for (auto const& a : model.program().actions)
    again += a.kind == search::step::action_kind::recompute;
  CHECK((again > 0) == (plan.stages[static_cast<std::size_t>(world_rank())].recomputed > 0));
}

TEST_CASE("so does the only stage of a plan") {
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = any_length(nn::describe<double>(pipelined_gpt, nn::token_batch{3, 4, 2}));
  auto const chosen = plan_source(problem, whole).whole();
  auto plan = search::price_pipeline(problem, chosen, {0, problem.size()}, {0}, -1, 2,
                                     whole.machine());
  plan.stages[0].recomputed = 1;
  auto const model = nn::place<double>(pipelined_gpt, whole, plan, 5);
  CHECK(model.plan().recomputed == 1);
}

TEST_CASE("wrong pipelines are refused on every rank") {
  int const n = world_size();
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", n}, {"gpu", 1}});
  nn::token_batch const batch{3, 4, 2};
  auto const problem = any_length(nn::describe<double>(pipelined_gpt, batch));
  auto const right = one_rank_a_stage(problem, whole.machine());
  auto const refused = [&](auto change) {
    auto plan = right;
    change(plan);
    return message_of([&] { (void)nn::place<double>(pipelined_gpt, whole, plan, 5); });
  };
  auto const last = static_cast<std::size_t>(n) - 1;
  CHECK(has(refused([&](auto& p) {
              std::vector<int> depths(static_cast<std::size_t>(n), 1);
              depths[last] = 2;
              p.order = pipelines::with_warm_ups(depths, 2);
            }),
            "nn::place: the pipeline's schedule does not run: the positions wait for each other in "
            "a circle"));
  CHECK(has(refused([&](auto& p) { p.order = pipelines::one_f_one_b(n, 3); }),
            "the schedule has 3 micro-batches, but the plan has 2."));
  CHECK(has(refused([&](auto& p) { p.order = pipelines::zb_v(n, 2); }),
            "stages, but the plan cuts the net into"));
  CHECK(has(refused([&](auto& p) { p.stages[1].first = p.stages[0].last = 3; }),
            "no residual, no branch and no mixture of experts is cut."));
  CHECK(has(refused([&](auto& p) { p.stages[last].recomputed = 9; }),
            "recomputes 9 segments, but it has"));
  CHECK(has(refused([&](auto& p) { p.stages[last].last += 1; }),
            "no residual, no branch and no mixture of experts is cut."));
  CHECK(has(refused([&](auto& p) { p.chosen.mesh.axis[1].extent = 2; }),
            "but the model is placed on"));
  CHECK(has(refused([&](auto& p) {
              if (whole.rank() == 1) p.order = pipelines::gpipe(n, 2);
            }),
            "the ranks have different plans: rank 1 has another"));
  for (int const axis : {-1, 2})
    CHECK(
        has(refused([&](auto& p) { p.axis = axis; }),
            "parts, but its axis " + std::to_string(axis) + " is not one of mesh stage=1,gpu=1."));
  CHECK(has(refused([&](auto& p) {
              if (whole.rank() == 1) p.axis = -1;
            }),
            "the ranks have different plans: rank 1 has another"));
  CHECK(has(refused([&](auto& p) {
              p.order = pipelines::interleaved(1, 2, n);
              p.axis = 7;
            }),
            "the plan has 1 parts, but its axis 7 is not one of mesh"));
  std::vector<int> turned;
  for (int r = n - 1; r >= 0; --r) turned.push_back(r);
  auto const part = whole.part(turned, whole.topology());
  CHECK(has(message_of([&] { (void)nn::place<double>(pipelined_gpt, part, right, 5); }),
            "nn::place: pipeline stages are for a whole mesh, but mesh " +
                to_string(whole.topology()) + " is a part of one. Place the net on the whole"));
}

}  // namespace ashlar_test
