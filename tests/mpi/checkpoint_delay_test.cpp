// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 3

// Tests checkpoints of trainings with delayed gradients. A resumed training continues bit for bit
// under the same plan, also if the checkpoint was saved before the first update. Under another
// plan, the training drops the saved gradients, and makes no update until its own gradients are old
// enough.

#include <doctest/doctest.h>
#include <support/placed.hpp>
#include <support/shared_folder.hpp>
#include <support/tiny_gpt.hpp>

#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/delayed.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;
namespace train = ashlar::train;

/// Trains for `before` steps with `plan`, and saves. Then trains for three more steps, both without
/// a break and in a training that resumes with the plan `resumed_with`. Returns whether the two
/// trainings have equal losses and parameters.
bool continues_delayed(ashlar::mesh const& m, search::plan const& plan,
                       search::plan const& resumed_with, int before) {
  shared_folder const f;
  train::adam_w const rule{.lr = 0.01};
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  train::trainer first(model, rule, {.clip = 1});
  for (int step = 0; step < before; ++step) first.step(tiny_batch(step));
  checkpoint::save(f.path(), first);
  auto again = nn::place<float>(tiny_gpt, m, resumed_with, 7);
  train::trainer resumed(again, rule, {.clip = 1});
  for (int step = 6; step < 9; ++step) resumed.step(tiny_batch(step));  // resume() discards it
  CHECK(checkpoint::resume(f.path(), resumed));
  CHECK(resumed.steps_done() == before);
  bool equal = true;
  for (int step = before; step < before + 3; ++step)
    equal = first.step(tiny_batch(step)).loss == resumed.step(tiny_batch(step)).loss && equal;
  return equal && values_of(model) == values_of(again);
}

}  // namespace

TEST_CASE("a training with delayed gradients continues bit for bit from a checkpoint") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plain = search::data_parallel(net, axes, m.machine());
  for (auto const* name : {"all-reduce", "zero1", "zero3"}) {
    CAPTURE(std::string(name));
    auto const made = sync::named(name, net, plain, m.machine());
    auto const plan = sync::delayed{3}(net, made, m.machine());
    CHECK(continues_delayed(m, plan, plan, 5));
    CHECK(continues_delayed(m, plan, plan, 2));
    CHECK_FALSE(continues_delayed(m, plan, made, 5));
    CHECK_FALSE(continues_delayed(m, made, plan, 5));
  }
}

TEST_CASE("under another plan, the first updates take the gradients of its own first steps") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plain = search::data_parallel(net, axes, m.machine());
  auto const two = sync::delayed{2}(net, plain, m.machine());
  auto const one = sync::delayed{1}(net, plain, m.machine());
  shared_folder const f, g;
  auto model = nn::place<float>(tiny_gpt, m, two, 7);
  train::trainer first(model, train::adam_w{});
  for (int step = 0; step < 4; ++step) first.step(tiny_batch(step));
  checkpoint::save(f.path(), first);
  auto const saved = values_of(model);
  auto other = nn::place<float>(tiny_gpt, m, one, 7);
  train::trainer resumed(other, train::adam_w{});
  CHECK(checkpoint::resume(f.path(), resumed));
  CHECK(resumed.first_gradient() == 4);
  CHECK(resumed.step(tiny_batch(4)).gradient_norm == 0);
  CHECK(values_of(other) == saved);
  checkpoint::save(g.path(), resumed);
  auto third = nn::place<float>(tiny_gpt, m, one, 7);
  train::trainer last(third, train::adam_w{});
  CHECK(checkpoint::resume(g.path(), last));
  CHECK(last.first_gradient() == 4);
  for (auto* t : {&resumed, &last}) CHECK(t->step(tiny_batch(5)).gradient_norm > 0);
  CHECK(values_of(other) != saved);
  CHECK(values_of(other) == values_of(third));
}

}  // namespace ashlar_test
