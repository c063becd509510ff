// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests that a training in pipeline stages is kept by a checkpoint: it continues bit for bit in the
// same stages, in others, and without stages, and a training without stages continues in stages.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/background_save.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;
namespace train = ashlar::train;

auto const kept_gpt = nn::chain(nn::embedding(7, 6), nn::repeat(8, nn::gpt_block(6, 3, 0.1)),
                                nn::layer_norm(6), nn::linear(6, 7));
nn::token_batch const kept_batch{4, 4, 4};

template <class Trainer>
std::vector<double> losses(Trainer& t, std::int64_t until) {
  std::vector<double> all;
  for (auto step = t.steps_done(); step < until; ++step)
    all.push_back(
        t.step(random_batch<std::int32_t>(kept_batch, 7, 7, static_cast<unsigned>(step), 4)).loss);
  return all;
}

}  // namespace

TEST_CASE("a training continues in other stages, and with and without stages") {
  int const n = world_size();
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", n}}), alone(MPI_COMM_SELF, {{"stage", 1}});
  auto const problem = any_length(nn::describe<double>(kept_gpt, kept_batch));
  auto const chosen = search::data_parallel(problem, alone.topology(), whole.machine());
  auto const staged = [&](ashlar::pipelines::schedule const& order) {
    auto const limits = search::stage_limits(problem, search::find_blocks(problem), order.stages());
    auto plan = search::price_pipeline(
        problem, chosen, limits, std::vector<int>(limits.size() - 1, 0), 0, 4, whole.machine());
    plan.order = order;
    return nn::place<double>(kept_gpt, whole, plan, 5);
  };
  auto first = staged(ashlar::pipelines::one_f_one_b(n, 4));
  auto second = staged(ashlar::pipelines::zb_v(n, 4));
  auto serial = nn::place<double>(kept_gpt, alone, chosen, 5);
  train::adam_w const adam{.lr = 0.01};
  train::trainer a(first, adam), b(second, adam), c(serial, adam);
  shared_folder const at_once, beside, from_serial;
  losses(a, 2);
  checkpoint::save(at_once.path(), a);
  checkpoint::background_save saves(beside.path(), whole);
  saves.save(a);
  auto const expected = losses(a, 4);
  saves.finish();
  CHECK(checkpoint::resume(at_once.path(), b));
  CHECK(losses(b, 4) == expected);
  CHECK(checkpoint::resume(beside.path(), c));
  CHECK(losses(c, 4) == expected);
  CHECK(checkpoint::resume(beside.path(), a));
  CHECK(losses(a, 4) == expected);

  losses(c, 5);
  if (whole.rank() == 0) checkpoint::save(from_serial.path(), c);
  whole.barrier();
  CHECK(checkpoint::resume(from_serial.path(), b));
  CHECK(losses(b, 6) == losses(c, 6));
}

}  // namespace ashlar_test
