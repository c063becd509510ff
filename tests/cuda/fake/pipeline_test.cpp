// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests pipelines on fake GPU ranks (fake_cuda.hpp). A net must train in stages exactly as on one
// stage: losses, gradient norms, predictions and parameters must be bitwise equal. Each rank must
// give NCCL the messages of the schedule, in an order that is the same on all ranks.

#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <support/device_instances.hpp>
#include <support/nets.hpp>
#include <support/plans.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

#include "fake_ranks.hpp"
#include "recorded_messages.hpp"

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace step = ashlar::search::step;
namespace pipelines = ashlar::pipelines;

auto const pipelined_gpt = nn::chain(nn::embedding(7, 6), nn::repeat(4, nn::gpt_block(6, 3, 0.2)),
                                     nn::layer_norm(6), nn::linear(6, 7));
auto const tied_gpt = nn::tied(nn::embedding(7, 6), nn::repeat(4, nn::gpt_block(6, 3, 0.2)),
                               nn::layer_norm(6), nn::output_embedding(6, 7));
constexpr int steps = 3;

/// The results of a training on one rank: losses and gradient norms, predictions, and the shards of
/// its parameters by name.
struct trained_rank {
  std::vector<double> losses;
  std::vector<float> predicted;
  std::map<std::string, std::vector<float>> parameters;
};

/// Returns the messages that NCCL must get in a step, found by a dry run of the program's
/// crossings. Throws if the numbers of the crossings do not increase, because all ranks must begin
/// crossings in the order of their numbers.
std::vector<fake::logged_message> expected_messages(step::program const& p,
                                                    ashlar::nccl::mesh const& m) {
  std::vector<fake::logged_message> all;
  int last = -1;
  for (auto const& a : p.actions) {
    if (a.kind != step::action_kind::begin_send && a.kind != step::action_kind::begin_receive)
      continue;
    auto const& c = p.crossing_of(a);
    if (c.number <= last) throw std::logic_error("a crossing out of order");
    last = c.number;
    auto const& plan = p.crossing_plans[static_cast<std::size_t>(c.plan)];
    for (auto const& one : recorded_messages(ashlar::prepared_for(plan, m.whole(), m.rank()), 4))
      all.push_back(one);
  }
  return all;
}

template <class Model>
trained_rank trained(Model& model, nn::token_batch const& batch) {
  auto const& m = model.mesh();
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 0.5});
  trained_rank made;
  auto const expected = expected_messages(trainer.program(), m);
  for (unsigned i = 0; i < steps; ++i) {
    fake::take_messages("ashlar crossings", m.rank());
    auto const report = trainer.step(random_batch<std::int32_t>(batch, 7, 7, i, 4));
    made.losses.push_back(report.loss);
    made.losses.push_back(report.gradient_norm);
    CHECK(fake::take_messages("ashlar crossings", m.rank()) == expected);
  }
  auto const data = random_batch<std::int32_t>(nn::token_batch{2, 4, 1}, 7, 7, 9, 4);
  made.predicted = model.predict(data.inputs);
  model.for_each_parameter([&](auto const& p) {
    auto const& x = p.value();
    if (!x.mesh().is_here()) return;
    std::vector<float> values(static_cast<std::size_t>(x.local_elements()));
    auto const stream = m.processor().stream;
    cudaMemcpyAsync(values.data(), x.data(), values.size() * 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    made.parameters[p.path()] = values;
  });
  return made;
}

/// Trains in stages on `positions` times `q` ranks, and on one stage of `q` ranks, and compares the
/// results. Returns false without training if partial tensors cross a cut, because the results then
/// agree only within rounding (tests/mpi/pipeline_test.cpp).
template <class Net = decltype(pipelined_gpt)>
bool hold(int positions, int q, pipelines::schedule const& order, search::plan const* given,
          Net const& net = pipelined_gpt) {
  CAPTURE(to_string(order));
  nn::token_batch const batch{2, 4, order.micro_batches};
  auto const problem = any_length(nn::describe<float>(net, batch));
  ashlar::topology const one{{"stage", 1}, {"gpu", q}};
  auto const& machine = ashlar::machines::workstation;
  auto const chosen = given != nullptr ? *given : plan_source(problem, one, machine).whole();
  auto const cuts = search::detail::cutting_points(problem);
  auto const stages = static_cast<std::size_t>(order.stages());
  std::vector<int> limits;
  for (std::size_t s = 0; s <= stages; ++s) limits.push_back(cuts[s * (cuts.size() - 1) / stages]);
  for (std::size_t s = 1; s < stages; ++s)
    if (chosen[limits[s]].x.has_partial() || chosen[limits[s] - 1].dy.has_partial()) return false;
  auto plan = search::price_pipeline(problem, chosen, limits, std::vector<int>(stages), 0,
                                     order.micro_batches, machine);
  plan.order = order;
  std::vector<trained_rank> serial(static_cast<std::size_t>(q));
  fake::all_ranks(q, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const alone(w, one);
    auto model = nn::place<float>(net, alone, chosen, 5);
    serial[static_cast<std::size_t>(w.rank())] = trained(model, batch);
  });
  fake::all_ranks(positions * q, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const whole(w, {{"stage", positions}, {"gpu", q}});
    auto model = nn::place<float>(net, whole, plan, 5);
    auto const made = trained(model, batch);
    auto const& right = serial[static_cast<std::size_t>(w.rank() % q)];
    CHECK(made.losses == right.losses);
    CHECK(made.predicted == right.predicted);
    CHECK(!made.parameters.empty());
    for (auto const& [path, values] : made.parameters) {
      CAPTURE(path);
      CHECK(values == right.parameters.at(path));
    }
  });
  return true;
}

}  // namespace

TEST_CASE("with tied embeddings, two stages train as one does, bit for bit") {
  fake::pause_up_to(20);
  for (auto const& order : {pipelines::one_f_one_b(2, 4), pipelines::zb_v(2, 4)})
    for (int const q : {1, 2}) CHECK(hold(2, q, order, nullptr, tied_gpt));
}

TEST_CASE("two and four stages train as one does, bit for bit") {
  fake::pause_up_to(20);
  for (int const positions : {2, 4})
    for (auto const& order : {pipelines::one_f_one_b(positions, 4), pipelines::eager(positions, 4),
                              pipelines::zb_v(positions, 4)})
      CHECK(hold(positions, 1, order, nullptr));
  fake::pause_up_to(0);
}

TEST_CASE("stages of two ranks with random placements") {
  nn::token_batch const batch{2, 4, 3};
  auto const problem = any_length(nn::describe<float>(pipelined_gpt, batch));
  plan_source const plans(problem, {{"stage", 1}, {"gpu", 2}}, ashlar::machines::workstation);
  std::mt19937 random(5);
  for (int done = 0; done < 4;) {
    auto plan = plans.random(random);
    plan.recomputed = 0;
    search::predict(plan, problem, ashlar::machines::workstation);
    done += hold(2, 2, done % 2 == 0 ? pipelines::one_f_one_b(2, 3) : pipelines::zb_v(2, 3), &plan);
  }
}

}  // namespace ashlar_test
