// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests pipelines on fake GPU ranks (fake_cuda.hpp). A net must train in several stages exactly as
// in one stage: losses, gradient norms, predictions and parameters must be bitwise equal. They must
// also be close to those of one rank of the host. Each rank must give NCCL the messages that its
// step program plans. All ranks must begin crossings in the same order.

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <support/device_instances.hpp>
#include <support/device_pipelines.hpp>

#include <ashlar/comm/mpi/environment.hpp>

#include "fake_ranks.hpp"
#include "recorded_messages.hpp"

namespace ashlar_test {
namespace {

namespace step = ashlar::search::step;

/// Returns the messages that NCCL must get in a step. A dry run of the program's crossings finds
/// them. Throws if the numbers of the crossings do not increase, because all ranks must begin
/// crossings in the order of these numbers.
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

/// Trains a model, and checks that each step gives NCCL the messages that its program plans.
template <class Model>
trained_net trained_with_messages(Model& model, nn::token_batch const& batch) {
  auto const& m = model.mesh();
  fake::take_messages("ashlar crossings", m.rank());
  return trained(model, batch, ashlar::train::adam_w{.lr = 0.01}, staged_options(),
                 [&](auto const& trainer) {
                   CHECK(fake::take_messages("ashlar crossings", m.rank()) ==
                         expected_messages(trainer.program(), m));
                 });
}

/// Trains in stages on `positions` times `q` ranks, and in one stage on `q` ranks, and compares the
/// results. If the stages may add in another order than one stage does (sums_as_one_stage), returns
/// false without training, because the results then agree only within rounding.
/// tests/mpi/pipeline_test.cpp tests that case.
template <class Net>
bool hold(int positions, int q, pipelines::schedule const& order, search::plan const* given,
          Net const& net) {
  CAPTURE(to_string(order));
  nn::token_batch const batch{2, 4, order.micro_batches};
  auto const problem = any_length(nn::describe<float>(net, batch));
  ashlar::topology const one{{"stage", 1}, {"gpu", q}};
  auto const& machine = ashlar::machines::workstation;
  auto const chosen = given != nullptr ? *given : plan_source(problem, one, machine).whole();
  if (!sums_as_one_stage(problem, chosen, even_limits(problem, order.stages()), positions))
    return false;
  auto const plan = in_even_stages(problem, chosen, order, machine);
  std::vector<trained_net> serial(static_cast<std::size_t>(q));
  fake::all_ranks(q, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const alone(w, one);
    auto model = nn::place<float>(net, alone, chosen, 5);
    serial[static_cast<std::size_t>(w.rank())] = trained_with_messages(model, batch);
  });
  fake::all_ranks(positions * q, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const whole(w, {{"stage", positions}, {"gpu", q}});
    auto model = nn::place<float>(net, whole, plan, 5);
    check_same_bits(trained_with_messages(model, batch),
                    serial[static_cast<std::size_t>(w.rank() % q)]);
  });
  return true;
}

}  // namespace

TEST_CASE("with tied embeddings, two stages train as one does, bit for bit") {
  fake::pause_up_to(20);
  for (auto const& order : {pipelines::one_f_one_b(2, 4), pipelines::zb_v(2, 4)})
    for (int const q : {1, 2}) CHECK(hold(2, q, order, nullptr, tied_gpt(staged_blocks)));
  fake::pause_up_to(0);
}

TEST_CASE("two and four stages train as one does, bit for bit") {
  fake::pause_up_to(20);
  for (int const positions : {2, 4})
    for (auto const& order : {pipelines::one_f_one_b(positions, 4), pipelines::eager(positions, 4),
                              pipelines::zb_v(positions, 4)})
      CHECK(hold(positions, 1, order, nullptr, small_gpt(staged_blocks)));
  fake::pause_up_to(0);
}

TEST_CASE("stages of two ranks with random placements") {
  nn::token_batch const batch{2, 4, 3};
  auto const gpt = small_gpt(staged_blocks);
  auto const problem = any_length(nn::describe<float>(gpt, batch));
  plan_source const plans(problem, {{"stage", 1}, {"gpu", 2}}, ashlar::machines::workstation);
  std::mt19937 random(5);
  for (int done = 0; done < 4;) {
    auto plan = plans.random(random);
    plan.recomputed = 0;
    search::predict(plan, problem, ashlar::machines::workstation);
    done += hold(2, 2, done % 2 == 0 ? pipelines::one_f_one_b(2, 3) : pipelines::zb_v(2, 3), &plan,
                 gpt);
  }
}

TEST_CASE("stages train as one rank of the host does") {
  std::optional<staged_on_host> host;
  {
    int argc = 0;
    char** argv = nullptr;
    ashlar::mpi::environment const env(argc, argv);  // only the trainings on the host use MPI
    host.emplace();
  }
  fake::pause_up_to(20);
  for (int const ranks : {2, 4})
    fake::all_ranks(ranks, [&](auto const& w) { check_stages_of_one_rank(w, *host); });
  fake::all_ranks(4, [&](auto const& w) { check_stages_of_several_ranks(w, *host); });
  fake::all_ranks(4, [&](auto const& w) { check_bfloat16_stages(w, *host); });
  fake::pause_up_to(0);
}

}  // namespace ashlar_test
