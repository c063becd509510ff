// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 3 4

// Tests checkpoints of trainings that send their gradients in lossy wire formats with error
// feedback. A resumed training continues bit for bit under the same plan, also in pipeline stages.
// Under another plan, the errors of the wire formats begin with zeros.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/shared_folder.hpp>
#include <support/tiny_gpt.hpp>
#include <support/training_trial.hpp>

#include <ashlar/checkpoint/background_save.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace train = ashlar::train;
namespace wires = ashlar::wires;

/// Trains with `plan` for two steps, saves a checkpoint, and trains for two more steps. Resumes
/// with `resumed_with`, and runs the last two steps again. Returns whether these steps have the
/// same losses both times, bit for bit.
template <class Plan, class Other>
bool continues(ashlar::mesh const& m, Plan const& plan, Other const& resumed_with,
               bool in_background) {
  shared_folder const f;
  train::adam_w const rule{.lr = 0.01};
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  train::trainer first(model, rule, {.clip = 1});
  first.step(tiny_batch(0));
  first.step(tiny_batch(1));
  if (in_background) {
    checkpoint::background_save<ashlar::device::host::processor> saves(f.path(), m);
    saves.save(first);
    saves.finish();
  } else {
    checkpoint::save(f.path(), first);
  }
  auto again = nn::place<float>(tiny_gpt, m, resumed_with, 7);
  train::trainer resumed(again, rule, {.clip = 1});
  resumed.step(tiny_batch(4));  // resume() discards the errors of this step
  CHECK(checkpoint::resume(f.path(), resumed));
  bool equal = true;
  for (unsigned step : {2u, 3u})
    equal = equal && first.step(tiny_batch(step)).loss == resumed.step(tiny_batch(step)).loss;
  return equal;
}

/// Returns a plan in two stages along the first axis, with one-bit gradients and feedback.
search::pipeline_plan in_two_stages(search::problem const& net, char const* strategy,
                                    ashlar::topology const& whole, ashlar::machine const& machine) {
  auto const plain = search::data_parallel(net, search::stage_mesh(whole, 0, 2), machine);
  auto const plan = sync::encoded{wires::with_feedback(wires::one_bit)}(
      net, sync::named(strategy, net, plain, machine), machine);
  return in_tiny_stages(net, plan, machine);
}

}  // namespace

TEST_CASE("a training with error feedback continues bit for bit from a checkpoint") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plain = search::data_parallel(net, axes, m.machine());
  bool in_background = false;
  for (auto const* name : {"all-reduce", "zero1"}) {
    auto const exact = sync::named(name, net, plain, m.machine());
    for (auto const& wire :
         {wires::with_feedback(wires::one_bit), wires::with_feedback(wires::power_sgd(1))}) {
      CAPTURE(std::string(name) + " " + to_string(wire));
      auto const plan = sync::encoded{wire}(net, exact, m.machine());
      CHECK(continues(m, plan, plan, in_background));
      in_background = !in_background;
    }
    in_background = !in_background;  // each wire is saved in the background under one strategy
  }
  // The losses differ under another plan, which cannot use the saved errors. They also differ if
  // only one of the two plans has wires.
  auto const plan = sync::encoded{wires::with_feedback(wires::one_bit)}(net, plain, m.machine());
  auto const zero = sync::zero<1>{}(net, plan, m.machine());
  CHECK_FALSE(continues(m, plan, zero, false));
  CHECK_FALSE(continues(m, plan, plain, false));
  CHECK_FALSE(continues(m, plain, plan, false));
}

TEST_CASE("a checkpoint of a plan without wires does not keep the metadata of one with wires") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plain = search::data_parallel(net, axes, m.machine());
  auto const wired = sync::encoded{wires::with_feedback(wires::one_bit)}(net, plain, m.machine());
  shared_folder const f;
  checkpoint::save_options options;
  int steps = 0;
  for (auto const* plan : {&wired, &plain, &wired}) {
    auto model = nn::place<float>(tiny_gpt, m, *plan, 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.01});
    if (auto const found = checkpoint::resume(f.path(), trainer))
      options.metadata = found->metadata;
    CHECK(trainer.steps_done() == steps++);
    trainer.step(tiny_batch(0));
    checkpoint::save(f.path(), trainer, options);
  }
}

TEST_CASE("the stages of a pipeline keep their errors in checkpoints") {
  if (world_size() != 4) return;
  auto const& net = tiny_problem();
  ashlar::topology const whole{{"stage", 2}, {"gpu", 2}};
  ashlar::mesh const m(MPI_COMM_WORLD, whole, ashlar::machines::workstation);
  // The gradient of the tied table is encoded once, although it also crosses to the first stage.
  for (auto const* name : {"all-reduce", "zero1", "owners"}) {
    CAPTURE(std::string(name));
    auto const staged = in_two_stages(net, name, whole, m.machine());
    CHECK(continues(m, staged, staged, false));
  }
}

TEST_CASE("the errors of a plan without stages do not fit one with the same placements in stages") {
  if (world_size() != 4) return;
  auto const& net = tiny_problem();
  ashlar::topology const whole{{"gpu", 4}};
  ashlar::mesh const m(MPI_COMM_WORLD, whole, ashlar::machines::workstation);
  auto const plan = sync::encoded{wires::with_feedback(wires::one_bit)}(
      net, search::data_parallel(net, whole, m.machine()), m.machine());
  auto const staged = in_two_stages(net, "all-reduce", whole, m.machine());
  CHECK(plan.choices == staged.chosen.choices);
  CHECK_FALSE(continues(m, plan, staged, false));
  CHECK_FALSE(continues(m, staged, plan, false));
}

}  // namespace ashlar_test
