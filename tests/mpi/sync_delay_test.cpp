// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests trainings with delayed gradients (sync/delayed.hpp) bit by bit against a loop that computes
// gradients without delays, keeps them, and applies them later. Also tests that
//
// - a step moves the same bytes as without delays,
// - synchronizations run during the passes, and the memory of the program is as predicted,
// - a step whose loss is not finite forgets no delayed gradient, but if a delayed gradient is not
//   finite, the training forgets it and goes on,
// - between steps, model::synchronize() sums the newest gradients of the model, not delayed ones,
// - plans in which gradients cannot be delayed are refused with an error of one sentence.

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/tiny_gpt.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/sync/delayed.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/sync/pinned.hpp>
#include <ashlar/sync/rows.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;
namespace train = ashlar::train;

constexpr int delayed_steps = 5;
constexpr double no_clip = std::numeric_limits<double>::infinity();

/// The results of a training: the loss and the gradient norm of each step, and the parameters at
/// the end.
struct delayed_course {
  std::vector<double> losses, norms;
  whole_parameters values;
  friend bool operator==(delayed_course const&, delayed_course const&) = default;
};

double falling_rate(std::int64_t step) { return 1.0 / double(step + 1); }

ashlar::any_tensor<ashlar::device::host::processor>
copy_of_gradient(ashlar::any_tensor<ashlar::device::host::processor> const& g) {
  auto copy = g.like(g.placement());
  std::memcpy(copy.data(), g.data(),
              static_cast<std::size_t>(g.local_elements() * ashlar::size_of(g.type())));
  return copy;
}

/// Trains with a plan whose gradients are delayed.
delayed_course trained_with_delays(ashlar::mesh const& m, search::plan const& plan, double clip,
                                   train::overlap how) {
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  train::trainer trainer(model, train::adam_w{.lr = 0.02},
                         {.clip = clip, .schedule = falling_rate, .overlap = how});
  delayed_course made;
  for (int step = 0; step < delayed_steps; ++step) {
    auto const report = trainer.step(tiny_batch(step));
    made.losses.push_back(report.loss);
    made.norms.push_back(report.gradient_norm);
  }
  made.values = values_of(model);
  return made;
}

/// Emulates the training of trained_with_delays(). `plan` has no delays. Parameter k of the net is
/// updated from the gradient of the step that was delays[k] steps before. A trainer whose learning
/// rate is zero computes the gradients of each step. The returned norm is right only if all delays
/// are equal.
delayed_course emulated(ashlar::mesh const& m, search::plan const& plan,
                        std::vector<int> const& delays, double clip) {
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  train::trainer probe(model, train::sgd{.lr = 0}, {.overlap = train::overlap::none});
  train::adam_w const rule{.lr = 0.02};
  train::adam_w::state<float> state(rule);
  struct made_by_step {
    std::vector<ashlar::any_tensor<ashlar::device::host::processor>> gradients;
    double norm;
  };
  std::deque<made_by_step> past;
  delayed_course made;
  for (int step = 0; step < delayed_steps; ++step) {
    auto const report = probe.step(tiny_batch(step));
    past.push_back({{}, report.gradient_norm});
    model.for_each_parameter(
        [&](auto const& p) { past.back().gradients.push_back(copy_of_gradient(p.gradient())); });
    int const source = step - delays[0];
    double const norm = source < 0 ? 0 : past[static_cast<std::size_t>(source)].norm;
    std::size_t k = 0;
    model.for_each_parameter([&](auto& p) {
      if (int const from = step - delays[k]; from >= 0) {
        p.set_gradient(past[static_cast<std::size_t>(from)].gradients[k]);
        state.update(k, from + 1, p, {falling_rate(step), norm > clip ? clip / norm : 1.0});
      }
      ++k;
    });
    model.renew();
    made.losses.push_back(report.loss);
    made.norms.push_back(norm);
  }
  made.values = values_of(model);
  return made;
}

/// Returns the delays of the parameters of a plan, in the order of the net. Each tied parameter is
/// listed once.
std::vector<int> delays_of(search::problem const& net, search::plan const& plan) {
  std::vector<int> delays;
  for (int i = 0; i < net.size(); ++i)
    for (int k = 0; k < plan[i].parameters.size(); ++k)
      if (net.spec(i).parameters[k].tie != search::tie_role::later)
        delays.push_back(plan[i].parameters[k].delay);
  return delays;
}

}  // namespace

TEST_CASE("delayed gradients are those of a loop that applies gradients later, in all bits") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  auto on = transport::messages;
  for (auto const* name : {"all-reduce", "zero1", "zero3", "owners"})
    for (int const delay : {1, 3}) {
      if (delay == 1 ? std::string(name) == "zero3" : std::string(name) == "owners") continue;
      CAPTURE(std::string(name) + " delayed by " + std::to_string(delay));
      auto const m = mesh_on(on, axes, even_machine);
      on = on == transport::messages ? transport::shared_memory : transport::messages;
      auto const plain = sync::named(name, net, search::data_parallel(net, axes, m.machine()),
                                     m.machine());
      auto const plan = sync::delayed{delay}(net, plain, m.machine());
      double const clip = delay == 1 ? 0.3 : no_clip;
      auto const found = trained_with_delays(m, plan, clip, train::overlap::as_planned);
      CHECK(found == emulated(m, plain, delays_of(net, plan), clip));
      if (delay == 1) CHECK(found.norms.back() > clip);
      CHECK(found == trained_with_delays(m, plan, clip, train::overlap::none));
      if (std::string(name) != "all-reduce") continue;
      auto const without = trained_with_delays(m, plain, clip, train::overlap::none);
      CHECK(found.losses[0] == without.losses[0]);
      CHECK(found.losses[1] != without.losses[1]);
    }
}

TEST_CASE("one parameter alone can be delayed, also with a wire") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  auto const m = mesh_on(transport::shared_memory, axes, even_machine);
  auto const plain = search::data_parallel(net, axes, m.machine());
  auto const wired = sync::encoded{ashlar::wires::with_feedback(ashlar::wires::int8)}(net, plain,
                                                                                      m.machine());
  for (auto const* name : {"embedding.table", "linear.weight"})
    for (auto const& base : {plain, wired}) {
      auto const plan = sync::pinned(net, base, m.machine(), name, sync::delayed{2});
      auto const delays = delays_of(net, plan);
      CHECK(std::count(delays.begin(), delays.end(), 2) > 0);
      CHECK(std::count(delays.begin(), delays.end(), 0) > 0);
      auto const found = trained_with_delays(m, plan, no_clip, train::overlap::as_planned);
      // The training encodes a gradient one step later than the emulation would. So plans with
      // wires are not emulated. They run with overlap and without, and both runs must have the same
      // bits.
      if (!has_wires(base)) {
        auto const right = emulated(m, base, delays, no_clip);
        CHECK(found.losses == right.losses);
        CHECK(found.values == right.values);
      }
      CHECK(found == trained_with_delays(m, plan, no_clip, train::overlap::none));
    }
}

TEST_CASE("a step with delays moves the same bytes, under its passes, in the predicted memory") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  auto const m = mesh_on(transport::shared_memory, axes, even_machine);
  for (auto const* name : {"all-reduce", "zero1"}) {
    auto const plain = sync::named(name, net, search::data_parallel(net, axes, m.machine()),
                                   m.machine());
    auto const plan = sync::delayed{2}(net, plain, m.machine());
    auto const records = [&](search::plan const& by) {
      auto model = nn::place<float>(tiny_gpt, m, by, 7);
      train::trainer trainer(model, train::adam_w{}, {.overlap = train::overlap::none});
      CHECK(ashlar::step::high_water(trainer.program()).peak == by.memory);
      std::vector<ashlar::collective_record> all;
      for (int step = 0; step < 3; ++step) {
        ashlar::communication_log const log(m);
        trainer.step(tiny_batch(step));
        for (auto const& r : log.records()) all.push_back(r);
      }
      return all;
    };
    CHECK(records(plan) == records(plain));
    CHECK(plan.memory > plain.memory);
    auto model = nn::place<float>(tiny_gpt, m, plan, 7);
    train::trainer const trainer(model, train::adam_w{});
    auto const& program = trainer.program();
    CHECK(!check(program).found());
    if (world_size() == 1) continue;
    // The first synchronization begins before the first computation.
    for (auto const& a : program.actions) {
      if (a.phase == search::phase::renew) continue;
      CHECK(a.kind == search::action_kind::begin_move);
      CHECK(a.phase == search::phase::synchronize);
      break;
    }
  }
}

TEST_CASE("a failed step forgets no delayed gradient") {
  auto const line = nn::chain(nn::linear(5, 4), nn::gelu(), nn::linear(4, 3));
  nn::feature_batch const batch{8, 5, 2};
  auto const net = any_length(nn::describe<float>(line, batch));
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plan = sync::delayed{2}(net, search::data_parallel(net, axes, m.machine()),
                                     m.machine());
  auto const losses = [&](bool fails) {
    auto model = nn::place<float>(line, m, plan, 3);
    train::trainer trainer(model, train::sgd{.lr = 0.1, .momentum = 0.5});
    std::vector<double> all;
    for (unsigned step = 0; step < 6; ++step) {
      auto data = random_batch<float>(batch, 0, 3, step);
      if (fails && step > 1) {
        auto spoiled = data;
        spoiled.inputs[0] = std::numeric_limits<float>::quiet_NaN();
        CHECK(has(message_of([&] { trainer.step(spoiled); }), "Parameters are as before"));
        CHECK(trainer.steps_done() == step);
      }
      all.push_back(trainer.step(data).loss);
    }
    return all;
  };
  CHECK(losses(true) == losses(false));
}

TEST_CASE("a delayed gradient that is not finite is forgotten, so that the training goes on") {
  auto const line = nn::chain(nn::linear(5, 4), nn::gelu(), nn::linear(4, 3));
  nn::feature_batch const batch{8, 5, 2};
  auto const net = any_length(nn::describe<float>(line, batch));
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plan = sync::delayed{1}(net, search::data_parallel(net, axes, m.machine()),
                                     m.machine());
  auto model = nn::place<float>(line, m, plan, 3);
  train::trainer trainer(model, train::sgd{.lr = 0.1});
  auto const data = random_batch<float>(batch, 0, 3, 0);
  trainer.step(data);
  trainer.delayed().for_each_array("", [](auto const&, auto, auto const&, void* shard) {
    *static_cast<float*>(shard) = std::numeric_limits<float>::infinity();
  });
  CHECK(has(message_of([&] { trainer.step(data); }), "and delayed gradients are forgotten"));
  CHECK(trainer.first_gradient() == 1);
  auto const before = values_of(model);
  trainer.step(data);  // makes no update, since no gradient is old enough
  CHECK(values_of(model) == before);
  trainer.step(data);
  CHECK(values_of(model) != before);
}

TEST_CASE("a model synchronizes its own gradients between the steps of a training with delays") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plain = search::data_parallel(net, axes, m.machine());
  auto const plan = sync::delayed{1}(net, plain, m.machine());
  auto model = nn::place<float>(tiny_gpt, m, plan, 7),
       other = nn::place<float>(tiny_gpt, m, plain, 7);
  train::trainer trainer(model, train::adam_w{});
  for (int step = 0; step < 3; ++step) trainer.step(tiny_batch(step));
  set_values(other, values_of(model));
  auto const gradients = [&](auto& of) {
    auto const data = tiny_batch(5);
    auto const half = data.inputs.size() / 2;
    double total = 0;
    of.clear_gradients();
    of.accumulate(std::span(data.inputs).first(half), std::span(data.targets).first(half), 0,
                  &total);
    of.synchronize();
    return gradients_of(of);
  };
  CHECK(gradients(model) == gradients(other));
}

TEST_CASE("what cannot be delayed is refused in one sentence") {
  auto const& net = tiny_problem();
  ashlar::topology const axes{{"gpu", world_size()}};
  ashlar::mesh const m(MPI_COMM_WORLD, axes, ashlar::machines::workstation);
  auto const plain = search::data_parallel(net, axes, m.machine());
  auto const placed = [&](auto const& plan) {
    return message_of([&] { nn::place<float>(tiny_gpt, m, plan, 7); });
  };
  for (int const steps : {-1, search::most_delay + 1}) {
    auto plan = plain;
    for (auto& c : plan.choices)
      for (auto& p : c.parameters) p.delay = steps;
    CHECK(has(placed(plan), "a gradient is delayed by 0 to 1000 steps. Write a delay"));
    CHECK(has(message_of([&] { sync::delayed{steps}(net, plain, m.machine()); }),
              "a gradient is delayed by 0 to 1000 steps, not by " + std::to_string(steps)));
  }
  auto split = sync::delayed{1}(net, plain, m.machine());
  split.choices[static_cast<std::size_t>(net.ties[0].later)].parameters[0].delay = 2;
  CHECK(has(placed(split), "Give both uses the same delay."));
  auto rows = plain;
  rows.choices[0].parameters[0].in_rows = true;
  rows.choices[0].parameters[0].delay = 1;
  CHECK(has(placed(rows), "a gradient in rows is not delayed"));
  if (world_size() != 4) return;
  ashlar::topology const whole{{"stage", 2}, {"gpu", 2}};
  ashlar::mesh const in_stages(MPI_COMM_WORLD, whole, ashlar::machines::workstation);
  auto const of_stage = sync::delayed{1}(
      net, search::data_parallel(net, search::stage_mesh(whole, 0, 2), m.machine()), m.machine());
  auto const staged = in_tiny_stages(net, of_stage, m.machine());
  CHECK(has(message_of([&] { nn::place<float>(tiny_gpt, in_stages, staged, 7); }),
            "delayed gradients are not for pipeline stages."));
}

}  // namespace ashlar_test
