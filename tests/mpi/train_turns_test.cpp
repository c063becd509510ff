// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6
// thorough: ASHLAR_TURNS=all 1 2 3 4 6 8

// Tests training steps in which micro-batches take turns (step/turns.hpp), with and without
// overlap. Losses, gradient norms and parameters must be bitwise equal to those of micro-batches
// that run one after another. The moved bytes must be those of the program. Only the gathers of
// parameters differ from those of serial micro-batches: micro-batches that take turns share each
// gather. The measured memory must not exceed the predicted memory. The environment variable
// ASHLAR_TURNS=all runs 20 steps under every plan, on every mesh with up to two axes. By default,
// only the first plan trains for more than two steps.

#include <algorithm>

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/transport.hpp>
#include <support/wants_all.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/traffic.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace step = ashlar::step;
namespace train = ashlar::train;

/// The losses, gradient norms and parameters of a training.
struct turned_training {
  std::vector<double> numbers;
  whole_parameters parameters;
  friend bool operator==(turned_training const&, turned_training const&) = default;
};

/// Trains with a plan in which `interleaved` micro-batches take turns.
template <class Input, class Net, class Batch>
turned_training train_with(Net const& net, Batch const& batch, int classes, ashlar::mesh const& m,
                           search::problem problem, search::plan plan, int interleaved,
                           train::overlap overlap, int steps, int& changed) {
  problem.interleaved = interleaved;
  predict(plan, problem, m.machine());
  auto model = nn::place<double>(net, m, plan, 3);
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 0.5, .overlap = overlap});
  auto const& p = trainer.program();
  CHECK(!step::check(p).found());
  CHECK(p.interleaved == interleaved);
  changed += overlap == train::overlap::as_planned && !(p == model.program());
  turned_training made;
  for (int s = 0; s < steps; ++s) {
    auto const report = trainer.step(
        data_for<Input>(net, batch, classes, classes, static_cast<unsigned>(s), 5));
    made.numbers.push_back(report.loss);
    made.numbers.push_back(report.gradient_norm);
    CHECK(report.hidden_seconds >= 0);
    CHECK(report.exposed_seconds >= 0);
    CHECK(report.overlap_ratio() >= 0);
  }
  made.parameters = values_of(model);
  return made;
}

/// Checks the bytes of each kind of collective in a step of a model whose micro-batches take turns.
template <class Model, class Data>
void check_bytes(Model& model, step::program const& p, Data const& data) {
  auto walker = model.make_executor(p);
  model.clear_gradients();
  double loss = 0;
  ashlar::communication_log log(model.mesh());
  walker.run(0, walker.first_update(), model.input_of(data.inputs, data.targets, 0, &loss));
  auto const expected = received_at(p, model.mesh().coordinate());
  step::collective_totals found;
  for (auto const& r : log.records()) {
    ++found.of[static_cast<int>(r.kind)].steps;
    found.of[static_cast<int>(r.kind)].bytes += double(r.received_bytes);
  }
  for (std::size_t k = 0; k < std::size(found.of); ++k)
    CHECK(found.of[k].bytes == expected.of[k].bytes);
}

template <class Input, class Net, class Batch>
void check_turns(Net const& net, Batch const& batch, int classes, int steps) {
  auto const problem = any_length(nn::describe<double>(net, batch));
  bool const all = wants_all("ASHLAR_TURNS");
  if (all) steps = 20;
  int changed = 0, recomputed = 0, sharded = 0;
  for (auto const& t : topologies(world_size())) {
    if (t.axes() > 2 || (!all && world_size() > 4 && t.axes() == 2 && t.extent(0) > 2)) continue;
    for (auto const on : {transport::messages, transport::shared_memory}) {
      auto const m = mesh_on(on, t, even_machine);
      std::vector<search::plan> plans{search::zero_3(problem, t, even_machine),
                                      search::tensor_parallel(problem, t, even_machine)};
      plan_source const source(problem, m);
      std::mt19937 random(on == transport::messages ? 6 : 7);
      plans.push_back(source.random(random));
      if (all || world_size() <= 4) plans.push_back(source.random(random));
      else plans.erase(plans.begin() + (on == transport::messages));  // saves time on many ranks
      for (auto const& plan : plans) {
        CAPTURE(describe(problem, plan));
        recomputed += plan.recomputed > 0;
        for (auto const& c : plan.choices)
          for (auto const& p : c.parameters) sharded += !(p.store == p.use);
        auto const run = [&](int k, train::overlap overlap) {
          return train_with<Input>(net, batch, classes, m, problem, plan, k, overlap, steps,
                                   changed);
        };
        auto const expected = run(1, train::overlap::none);
        for (int const k : {2, 3}) {
          CAPTURE(k);
          CHECK(run(k, train::overlap::none) == expected);
          CHECK(run(k, train::overlap::as_planned) == expected);
        }
        if (!all) steps = std::min(steps, 2);  // only the first plan trains for many steps
      }
    }
  }
  if (world_size() == 1) return;
  CHECK(changed > 0);
  CHECK(sharded > 0);
  if (problem.segments > 0 && world_size() <= 4) CHECK(recomputed > 0);
}

}  // namespace

TEST_CASE("a GPT with dropout, recomputed blocks and sharded weights, in turns") {
  check_turns<std::int32_t>(nn::chain(nn::embedding(9, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.2)),
                                      nn::layer_norm(6), nn::linear(6, 9)),
                            nn::token_batch{3, 4, 4}, 9, 20);
}

TEST_CASE("skips and a tied parameter, in turns") {
  check_turns<double>(nn::chain(nn::linear(5, 8), nn::gelu(), nn::skip(nn::linear(8, 6)),
                                nn::segment(nn::linear(14, 8)), nn::linear(8, 6)),
                      nn::feature_batch{7, 5, 4}, 6, 3);
  check_turns<std::int32_t>(nn::tied(nn::embedding(9, 6), nn::gpt_block(6, 3), nn::layer_norm(6),
                                     nn::output_embedding(6, 9)),
                            nn::token_batch{3, 4, 4}, 9, 2);
}

TEST_CASE("the bytes of a step in turns are those of its program, and weights count once") {
  auto const net = nn::chain(nn::embedding(9, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.2)),
                             nn::layer_norm(6), nn::linear(6, 9));
  nn::token_batch const batch{3, 4, 4};
  auto const described = any_length(nn::describe<double>(net, batch));
  auto const data = random_batch<std::int32_t>(batch, 9, 9, 1);
  int fewer = 0;
  for (auto const& t : topologies(world_size())) {
    if (t.axes() > 2) continue;
    ashlar::mesh const m(MPI_COMM_WORLD, t, even_machine);
    for (auto plan : {search::zero_3(described, t, even_machine),
                      search::tensor_parallel(described, t, even_machine)}) {
      double without = 0;
      for (int const k : {1, 2, 3, 4}) {
        CAPTURE(k);
        auto problem = described;
        problem.interleaved = k;
        predict(plan, problem, even_machine);
        auto model = nn::place<double>(net, m, plan, 3);
        train::trainer const trainer(model, train::sgd{.lr = 0.1});
        check_bytes(model, model.program(), data);
        check_bytes(model, trainer.program(), data);
        double const bytes = received_at(model.program(), m.coordinate()).bytes();
        if (k == 1) without = bytes;
        CHECK(bytes <= without);
        fewer += bytes < without;
      }
    }
  }
  if (world_size() > 1) CHECK(fewer > 0);
}

TEST_CASE("steps in turns need at most the predicted memory") {
  // The size of each tensor in bytes is one of the allocator's block sizes
  // (support/size_class.hpp), so no tensor is padded.
  auto const net = nn::chain(nn::embedding(64, 64), nn::repeat(2, nn::gpt_block(64, 4)),
                             nn::layer_norm(64), nn::linear(64, 64));
  nn::token_batch const batch{8, 32, 4};
  auto const described = any_length(nn::describe<double>(net, batch));
  auto const data = random_batch<std::int32_t>(batch, 64, 64, 1);
  ashlar::topology const t{{"gpu", world_size()}};
  if (world_size() % 3 == 0) return;  // shards of unequal sizes would be padded
  for (auto const overlap : {train::overlap::none, train::overlap::as_planned})
    for (auto plan : {search::zero_3(described, t, even_machine),
                      search::tensor_parallel(described, t, even_machine)})
      for (int const k : {1, 2, 4}) {
        auto problem = described;
        problem.interleaved = k;
        predict(plan, problem, even_machine);
        ashlar::mesh const m(MPI_COMM_WORLD, t, even_machine);
        auto const before = static_cast<std::int64_t>(m.memory().bytes_in_use());
        auto model = nn::place<double>(net, m, plan, 3);
        train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = overlap});
        trainer.step(data);
        m.memory().reset_peak();
        trainer.step(data);
        auto const measured = static_cast<std::int64_t>(m.memory().peak_bytes()) - before;
        auto const predicted = high_water(trainer.program()).peak;
        CAPTURE(k);
        CAPTURE(describe(problem, plan));
        CAPTURE(measured);
        CAPTURE(predicted);
        CAPTURE(plan.memory);
        // The prediction counts neither statistics nor the losses of rows.
        CHECK(measured <= predicted + 32768);
        CHECK(double(measured) >= 0.6 * double(predicted));
        if (overlap == train::overlap::none) CHECK(measured <= plan.memory);
      }
}

TEST_CASE("a plan whose micro-batches cannot take turns is not placed") {
  auto const net = nn::chain(nn::linear(5, 8), nn::linear(8, 6));
  auto const problem = any_length(nn::describe<double>(net, nn::feature_batch{8, 5, 2}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto plan = plan_source(problem, m).whole();
  plan.interleaved = 3;
  CHECK_THROWS_WITH_AS(nn::place<double>(net, m, plan),
                       doctest::Contains("3 micro-batches cannot take turns in a step of 2."),
                       ashlar::error);
  plan.interleaved = 2;
  CHECK_NOTHROW(nn::place<double>(net, m, plan));
  search::pipeline_plan stages;
  stages.chosen = plan;
  stages.stages.resize(2);
  CHECK_THROWS_WITH_AS(
      nn::place<double>(net, m, stages),
      doctest::Contains(
          "micro-batches cannot take turns in a pipeline, whose schedule orders them. "
          "Set the plan's interleaved to 1."),
      ashlar::error);
}

}  // namespace ashlar_test
