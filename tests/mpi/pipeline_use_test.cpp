// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests uses of a model in pipeline stages other than training. Predictions and evaluations must
// equal those of the net in one stage. Blocking transfers must give the same results as transfers
// in the background.
// The report of a step must contain the bubble. The trace must have the events of each rank's own
// program.

#include <algorithm>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>
#include <ashlar/train/step_trace.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

auto const used_gpt = nn::chain(nn::embedding(7, 6), nn::repeat(8, nn::gpt_block(6, 3, 0.2)),
                                nn::layer_norm(6), nn::linear(6, 7));

/// Returns two plans of used_gpt: a pipeline with equal stages, whose parts (order.positions many)
/// together have all ranks, and the plan of a single stage on the ranks of one part.
std::pair<search::pipeline_plan, search::plan> staged_plan(nn::token_batch const& batch,
                                                           pipelines::schedule const& order,
                                                           ashlar::machine const& m) {
  auto const problem = any_length(nn::describe<double>(used_gpt, batch));
  ashlar::topology const one{{"stage", 1}, {"gpu", world_size() / order.positions}};
  auto const chosen = search::data_parallel(problem, one, m);
  auto const limits = search::stage_limits(problem, search::find_blocks(problem), order.stages());
  auto plan = search::price_pipeline(
      problem, chosen, limits, std::vector<int>(limits.size() - 1, 0), 0, batch.micro_batches, m);
  plan.order = order;
  return {plan, chosen};
}

std::vector<pipelines::schedule> used_schedules(int positions, int m) {
  return {pipelines::one_f_one_b(positions, m), pipelines::interleaved(positions, m, 2),
          pipelines::zb_v(positions, m)};
}

std::string text_of(std::string const& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
int times_in(std::string const& text, std::string const& what) {
  int n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("stages predict and evaluate as one stage does") {
  for (int positions = 2; positions <= world_size(); positions *= 2) {
    int const q = world_size() / positions, m = positions;
    ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", positions}, {"gpu", q}});
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() / q, world_rank() % q, &own);
    {
      ashlar::mesh const alone(own, {{"stage", 1}, {"gpu", q}});
      nn::token_batch const batch{4, 4, m};
      auto const data = random_batch<std::int32_t>(batch, 7, 7, 1, 4);
      auto const size = data.inputs.size() / static_cast<std::size_t>(m);
      for (auto const& order : used_schedules(positions, m)) {
        CAPTURE(to_string(order));
        auto const [plan, chosen] = staged_plan(batch, order, whole.machine());
        auto staged = nn::place<double>(used_gpt, whole, plan, 5);
        auto serial = nn::place<double>(used_gpt, alone, chosen, 5);
        auto waiting = nn::place<double>(used_gpt, whole, plan, 5);
        train::adam_w const adam{.lr = 0.01};
        train::trainer a(staged, adam), b(serial, adam);
        train::trainer c(waiting, adam, {.overlap = train::overlap::none});
        auto const fault = ashlar::search::check(c.program());
        CHECK_MESSAGE(!fault.found(), to_string(fault, c.program()));
        double largest_bubble = 0;
        for (int step = 0; step < 2; ++step) {
          auto const report = a.step(data);
          largest_bubble = std::max(largest_bubble, report.bubble);
          CHECK(report.loss == b.step(data).loss);
          CHECK(report.loss == c.step(data).loss);
          CHECK(report.bubble >= 0);
          CHECK(report.bubble < 1);
          for (int k = 0; k < m; ++k) {
            std::span const inputs(data.inputs.data() + static_cast<std::size_t>(k) * size, size);
            std::span const targets(data.targets.data() + static_cast<std::size_t>(k) * size, size);
            CHECK(staged.predict(inputs) == serial.predict(inputs));
            CHECK(near(staged.evaluate(inputs, targets), serial.evaluate(inputs, targets), 1e-12));
          }
        }
        CHECK(largest_bubble > 0);  // every part waits for another one in every step
      }
    }
    MPI_Comm_free(&own);
  }
}

TEST_CASE("the trace of a pipeline has the program of every rank") {
  int const positions = 2, m = 4;
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", positions}, {"gpu", world_size() / 2}});
  nn::token_batch const batch{4, 4, m};
  auto const plan = staged_plan(batch, pipelines::zb_h1(positions, m), whole.machine()).first;
  auto model = nn::place<double>(used_gpt, whole, plan, 5);
  train::trainer trainer(model, train::adam_w{}, {.record_times = true});
  trainer.continue_after(3);
  CHECK(has(message_of([&] { train::write_step_trace("nowhere/trace.json", trainer); }),
            "write_step_trace: no step was recorded."));
  trainer.step(random_batch<std::int32_t>(batch, 7, 7, 1, 4));
  CHECK(has(message_of([&] { train::write_step_trace("nowhere/trace.json", trainer); }),
            "write_step_trace: on rank 0: nowhere/trace.json cannot be written"));
  shared_folder const folder;
  auto const path = (folder.path() / "trace.json").string();
  train::write_step_trace(path, trainer);
  if (world_rank() == 0) {
    auto const text = text_of(path);
    CHECK(times_in(text, "process_name") == world_size());
    for (int r = 0; r < world_size(); ++r)
      CHECK(times_in(text, "\"rank " + std::to_string(r) + ", part " +
                               std::to_string(2 * r / world_size()) + "\"") == 1);
    for (auto const* const what : {"send y", "receive x", "send dx", "receive dy"})
      CHECK(times_in(text, std::string(what) + "\",\"cat\":\"transfer\"") == m * world_size());
    CHECK(times_in(text, "weight gradient") > 0);
  }
}

}  // namespace ashlar_test
