// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests training steps that are CUDA graphs, on fake GPU ranks (fake_cuda.hpp). Results must be
// bitwise the same as without graphs. A step must take only a few host calls. Steps that cannot be
// graphs must be refused, such as those of a net with dropout or of a pipeline. Also tests, without
// graphs, that strategies of gradient synchronization give the same bits.

#include <doctest/doctest.h>
#include <support/device_instances.hpp>
#include <support/message_of.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/nn/dropout.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/train/trainer.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

using value = ashlar::bfloat16;  // the parameters are float
constexpr std::int64_t vocabulary = 13, features = 8, sequence = 4;

/// A machine on which computing is expensive and communication is cheap, so that the best plans
/// split tensors.
constexpr ashlar::machine slow_ranks{{1e-9, 1e-12}, {1e-9, 1e-12}, 1e6, 1e6, 0};

auto net_of(double p) {
  return nn::chain(nn::embedding(vocabulary, features),
                   nn::residual(nn::linear(features, features)), nn::dropout(p),
                   nn::layer_norm(features), nn::linear(features, vocabulary));
}

train::batch_data<> batch(int step, std::int64_t rows) {
  train::batch_data<> data;
  for (std::int64_t i = 0; i < rows; ++i) {
    data.inputs.push_back(static_cast<std::int32_t>((i * 5 + step) % vocabulary));
    data.targets.push_back(static_cast<std::int32_t>((i * 3 + 2 * step) % vocabulary));
  }
  return data;
}

struct run_of_steps {
  std::vector<double> numbers;  // losses and gradient norms
  int calls = 0;                // the number of calls in the last step that submit work to a stream
  int calls_for_memory = 0;
};

template <class Plan>
run_of_steps steps(ashlar::nccl::mesh const& m, Plan const& plan, bool graph, int count) {
  auto const net = net_of(0);
  auto model = nn::place<value>(net, m, plan, 7);
  train::trainer_options options;
  options.clip = 1;
  options.graph = graph;
  train::trainer trainer(model, train::adam_w{.lr = 0.02}, options);
  run_of_steps result;
  for (int i = 0; i < count; ++i) {
    int const work = fake::calls_for_work(), memory = fake::calls_for_memory();
    auto const report = trainer.step(batch(i, model.rows() * model.micro_batches()));
    result.numbers.push_back(report.loss);
    result.numbers.push_back(report.gradient_norm);
    result.calls = fake::calls_for_work() - work;
    result.calls_for_memory = fake::calls_for_memory() - memory;
    if (i == 3) {  // runs other work between two replays
      std::vector<std::int32_t> const ids(
          static_cast<std::size_t>(model.input_extents().elements()), 1);
      (void)model.predict(ids);
    }
  }
  return result;
}

void same_bits(ashlar::topology const& t, int micro_batches, int count) {
  fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, t);
    auto const problem = nn::describe<value>(net_of(0),
                                             nn::token_batch{4, sequence, micro_batches});
    auto const plan = ashlar::search::optimal(problem, t, slow_ranks);
    auto const anew = steps(m, plan, false, count), replayed = steps(m, plan, true, count);
    if (anew.numbers != replayed.numbers) throw std::logic_error("other losses or norms");
  });
}

TEST_CASE("steps as graphs and repeated steps agree bitwise") {
  same_bits({{"gpu", 1}}, 2, 7);
  fake::pause_up_to(20);
  same_bits({{"gpu", 2}}, 1, 6);
  fake::pause_up_to(0);
  same_bits({{"node", 2}, {"gpu", 2}}, 2, 5);
}

TEST_CASE("the checked mode lets transfers be captured") {
  fake::all_ranks(2, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, {{"gpu", 2}});
    auto const problem = nn::describe<value>(net_of(0), nn::token_batch{4, sequence, 1});
    auto const plan = ashlar::search::data_parallel(problem, m.topology(), slow_ranks);
    auto const expected = steps(m, plan, false, 4);
    m.set_checked(true);
    if (steps(m, plan, true, 4).numbers != expected.numbers)
      throw std::logic_error("other losses or norms");
  });
}

TEST_CASE("micro-batches that take turns agree bitwise with others, also as graphs") {
  ashlar::topology const t{{"gpu", 2}};
  fake::pause_up_to(20);
  fake::all_ranks(2, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, t);
    auto const problem = nn::describe<value>(net_of(0), nn::token_batch{4, sequence, 3});
    auto plan = ashlar::search::optimal(problem, t, slow_ranks);
    auto const expected = steps(m, plan, false, 5);
    plan.interleaved = 2;
    for (bool const graph : {false, true})
      if (steps(m, plan, graph, 5).numbers != expected.numbers)
        throw std::logic_error("other losses or norms");
  });
  fake::pause_up_to(0);
}

TEST_CASE("a replayed step is a few calls of the host and does not allocate memory") {
  fake::all_ranks(1, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, {{"gpu", 1}});
    auto const problem = nn::describe<value>(net_of(0), nn::token_batch{4, sequence, 3});
    auto const plan = ashlar::search::optimal(problem, m.topology(), m.machine());
    auto const anew = steps(m, plan, false, 6), replayed = steps(m, plan, true, 6);
    CHECK(anew.calls_for_memory == 0);
    CHECK(replayed.calls_for_memory == 0);
    // The calls of a replayed step copy the data of three micro-batches, launch the graph, compute
    // the norms and update each parameter.
    MESSAGE("calls of a step: " << anew.calls << ", replayed: " << replayed.calls);
    CHECK(replayed.calls < 45);
    CHECK(anew.calls > 3 * replayed.calls);
  });
}

TEST_CASE("parameters that are updated apart from their storage: the same bits, but no graph") {
  ashlar::topology const t{{"gpu", 2}};
  fake::pause_up_to(20);
  fake::all_ranks(2, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, t);
    auto const problem = any_length(
        nn::describe<value>(net_of(0), nn::token_batch{4, sequence, 2}));
    auto const plain = ashlar::search::data_parallel(problem, t, slow_ranks);
    auto const expected = steps(m, plain, false, 4);
    for (auto const name : {"zero1", "owners", "zero3"}) {
      auto const plan = ashlar::sync::named(name, problem, plain, slow_ranks);
      if (steps(m, plan, false, 4).numbers != expected.numbers)
        throw std::logic_error(std::string("other losses or norms with ") + name);
    }
    auto const divided = ashlar::sync::zero<1>{}(problem, plain, slow_ranks);
    auto const said = message_of([&] { steps(m, divided, true, 1); });
    if (!has(said,
             "a CUDA graph reads parameters at fixed addresses, but 0.table is updated apart"))
      throw std::logic_error(said);
  });
  fake::pause_up_to(0);
}

TEST_CASE("a step of a pipeline is refused as a graph when its trainer is made") {
  fake::all_ranks(2, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, {{"stage", 2}});
    auto const problem = any_length(
        nn::describe<value>(net_of(0), nn::token_batch{4, sequence, 2}));
    auto const stage = ashlar::search::stage_mesh(m.topology(), 0, 2);
    auto const plan = ashlar::search::price_pipeline(
        problem, ashlar::search::data_parallel(problem, stage, slow_ranks), {0, 1, problem.size()},
        {0, 0}, 0, 2, slow_ranks);
    auto const said = message_of([&] { steps(m, plan, true, 0); });
    if (!has(said, "trainer: a step of a pipeline cannot be one CUDA graph."))
      throw std::logic_error(said);
  });
}

TEST_CASE("every strategy that sums by rank gives the same bits") {
  ashlar::topology const t{{"gpu", 3}};
  fake::pause_up_to(20);
  fake::all_ranks(3, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, t);
    m.set_sum_order(ashlar::sum_order::by_rank);
    auto const problem = any_length(
        nn::describe<value>(net_of(0), nn::token_batch{4, sequence, 2}));
    auto const plain = ashlar::search::data_parallel(problem, t, slow_ranks);
    auto const losses = [&](ashlar::search::plan const& plan) {
      auto model = nn::place<value>(net_of(0), m, plan, 7);
      // Gradients are not clipped, because each strategy rounds their norms differently.
      train::trainer trainer(model, train::adam_w{.lr = 0.02});
      std::vector<double> all;
      for (int i = 0; i < 4; ++i)
        all.push_back(trainer.step(batch(i, model.rows() * model.micro_batches())).loss);
      return all;
    };
    auto const expected = losses(plain);
    for (auto const name : ashlar::sync::names())
      if (losses(ashlar::sync::named(name, problem, plain, slow_ranks)) != expected)
        throw std::logic_error(std::string("other losses with ") + std::string(name));
  });
  fake::pause_up_to(0);
}

TEST_CASE("recorded times are refused") {
  fake::all_ranks(1, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, {{"gpu", 1}});
    auto const net = net_of(0);
    auto const problem = nn::describe<value>(net, nn::token_batch{4, sequence, 1});
    auto model = nn::place<value>(net, m,
                                  ashlar::search::optimal(problem, m.topology(), m.machine()));
    train::trainer_options options;
    options.graph = true;
    options.record_times = true;
    CHECK(has(message_of([&] { train::trainer trainer(model, train::sgd{}, options); }),
              "the actions of a CUDA graph have no times of their own. Leave "
              "trainer_options.record_times or trainer_options.graph off"));
  });
}

TEST_CASE("dropout is refused") {
  fake::all_ranks(1, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, {{"gpu", 1}});
    auto const net = net_of(0.1);
    auto const problem = nn::describe<value>(net, nn::token_batch{4, sequence, 1});
    auto model = nn::place<value>(net, m,
                                  ashlar::search::optimal(problem, m.topology(), m.machine()));
    train::trainer_options options;
    options.graph = true;
    train::trainer trainer(model, train::sgd{}, options);
    for (int i = 0; i < 2; ++i) trainer.step(batch(i, model.rows()));
    CHECK(has(message_of([&] { trainer.step(batch(2, model.rows())); }),
              "nn::dropout: a CUDA graph would drop the same elements at each replay"));
  });
}

}  // namespace
}  // namespace ashlar_test
