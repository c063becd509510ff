// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests trainings whose first steps have no wires (plan::plain_steps):
//
// - these plain steps have the bits of a training without wires, and later steps do not; all steps
//   move the bytes that their programs predict, and need no more memory than the plan says,
// - after the plain steps, AdamW no longer changes its second moment under one-bit, top-k and
//   momentum, but does under all other wires; biases have none of these three wires,
// - wires with momentum send the average of all gradients since the plain steps; AdamW stores it
//   times 1 - beta1^t, where t is the number of all steps,
// - a training continues bit for bit from a checkpoint that was saved before, at or after the end
//   of the plain steps; from then on, the checkpoint says how many gradients AdamW has squared,
// - a training goes on after a failed plain step, but not after a later failed step,
// - stages of a pipeline have plain steps, too, and all ranks must have the same number of them.

#include <cmath>
#include <map>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/shared_folder.hpp>
#include <support/tiny_gpt.hpp>
#include <support/traffic_check.hpp>
#include <support/training_trial.hpp>

#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/sync/delayed.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/train/sgd.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace train = ashlar::train;
namespace wires = ashlar::wires;

constexpr int plain_count = 2;

/// Returns the plan `exact`, changed to use the wire in all steps but the first two.
search::plan plain_at_first(search::problem const& net, search::plan const& exact,
                            ashlar::wire_format const& wire, ashlar::machine const& machine) {
  return sync::encoded{.wire = wire, .plain_steps = plain_count}(net, exact, machine);
}

template <class Plan>
std::vector<double> losses_of_steps(ashlar::mesh const& m, Plan const& plan, train::overlap how) {
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 1, .overlap = how});
  std::vector<double> all;
  for (int step = 0; step < plain_count + 3; ++step)
    all.push_back(trainer.step(tiny_batch(step)).loss);
  return all;
}

/// Returns whether the losses of the plain steps and of the first step with a wire are equal, while
/// those of the next step differ. The first wire cannot change the loss of its own step, because
/// this loss is computed before gradients are sent.
bool differ_after_plain_steps(std::vector<double> const& a, std::vector<double> const& b) {
  for (std::size_t k = 0; k <= plain_count; ++k)
    if (a[k] != b[k]) return false;
  return a[plain_count + 1] != b[plain_count + 1];
}

/// Returns all moments whose names begin with `kind`. Their keys are the number of dims followed by
/// the name.
template <class Trainer>
std::map<std::string, std::vector<float>> moments(Trainer& t, char const* kind) {
  std::map<std::string, std::vector<float>> all;
  t.for_each_array([&](std::string const& name, auto, auto const& value, void* shard) {
    auto const* const first = static_cast<float const*>(shard);
    if (name.starts_with(kind))
      all[std::to_string(value.extents().rank()) + name] = {first, first + value.local_elements()};
  });
  return all;
}

}  // namespace

TEST_CASE("the first steps of a training have no wires, and both phases move the planned bytes") {
  auto const& net = tiny_problem();
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const wire = on == transport::messages ? wires::with_momentum(wires::one_bit)
                                                : wires::with_feedback(wires::one_bit);
    auto const m = mesh_on(on, {{"gpu", world_size()}}, slow_messages);
    auto const data = search::data_parallel(net, m.topology(), m.machine());
    for (auto const* const name : {"all-reduce", "zero1"}) {
      CAPTURE(std::string(name));
      auto const exact = sync::named(name, net, data, m.machine());
      auto const plan = plain_at_first(net, exact, wire, m.machine());
      REQUIRE(has_wires(plan));
      auto const found = losses_of_steps(m, plan, train::overlap::none);
      CHECK(differ_after_plain_steps(found, losses_of_steps(m, exact, train::overlap::none)));
      CHECK(losses_of_steps(m, plan, train::overlap::as_planned) == found);

      auto model = nn::place<float>(tiny_gpt, m, plan, 7);
      train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = train::overlap::none});
      for (int step = 0; step < plain_count + 2; ++step) {
        traffic_check const check(m, on);
        trainer.step(tiny_batch(step));
        CHECK(check.difference(expected_records(net, step < plain_count ? exact : plan, m)) == "");
        auto const peak = search::high_water(trainer.program()).peak;
        CHECK((step < plain_count ? peak <= plan.memory : peak == plan.memory));
      }
      CHECK(has(sync::explain(net, plan, m.machine()), "the first 2 steps have no wires"));
      CHECK(!has(sync::explain(net, exact, m.machine()), "have no wires"));
    }
  }
}

TEST_CASE("AdamW keeps the second moment of exact gradients under wires that distort squares") {
  auto const& net = tiny_problem();
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const exact = search::data_parallel(net, m.topology(), m.machine());
  for (auto const& wire :
       {wires::with_feedback(wires::one_bit), wires::with_momentum(wires::one_bit),
        wires::with_feedback(wires::top_k(4)), wires::with_feedback(wires::int8),
        wires::with_momentum(wires::int8), wires::with_feedback(wires::power_sgd(1))})
    for (bool const begins_plain : {true, false}) {
      if (!begins_plain && wire.momentum) continue;
      sync::encoded const by{.wire = wire, .plain_steps = begins_plain ? plain_count : 0};
      auto const plan = by(net, exact, m.machine());
      auto model = nn::place<float>(tiny_gpt, m, plan, 7);
      train::trainer trainer(model, train::adam_w{.lr = 0.01});
      for (int step = 0; step < plain_count; ++step) trainer.step(tiny_batch(step));
      auto const before = moments(trainer, "second_moment/");
      trainer.step(tiny_batch(plain_count));
      CAPTURE(to_string(wire));
      CAPTURE(begins_plain);
      for (auto const& it : moments(trainer, "second_moment/")) {
        auto const &now = it.second, &then = before.at(it.first);
        bool const is_matrix = it.first[0] >= '2';
        int kept = 0, changed = 0;
        for (std::size_t i = 0; i < now.size(); ++i)
          if (then[i] != 0) ++(now[i] == then[i] ? kept : changed);
        CAPTURE(it.first);
        if (begins_plain && is_matrix && wire.distorts_squares()) CHECK(changed == 0);
        else CHECK(changed > kept);
      }
    }
}

TEST_CASE("wires with momentum send the average of the gradients since the plain steps") {
  auto const& net = tiny_problem();
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const data = search::data_parallel(net, m.topology(), m.machine());
  // The learning rate is 0, so the parameters never change. If beta1 is 0, the first moment is the
  // gradient of the last step.
  auto const moments_after = [&](search::plan const& plan, double beta1, double clip,
                                 std::vector<int> const& batches) {
    auto model = nn::place<float>(tiny_gpt, m, plan, 7);
    train::trainer trainer(model, train::adam_w{.lr = 0, .beta1 = beta1, .weight_decay = 0},
                           {.clip = clip});
    for (int const batch : batches) trainer.step(tiny_batch(batch));
    return moments(trainer, "first_moment/");
  };
  for (auto const* const name : {"all-reduce", "zero1"}) {
    auto const exact = sync::named(name, net, data, m.machine());
    // This wire sends all elements, so it is exact.
    sync::encoded const by{.wire = wires::with_momentum(wires::top_k(1)), .plain_steps = 1};
    auto const plan = by(net, exact, m.machine());
    auto const a = moments_after(exact, 0, 1e30, {0}), b = moments_after(exact, 0, 1e30, {1});
    auto const found = moments_after(plan, 0.5, 1e30, {2, 0, 1});
    float const bias = 1 - 0.5f * 0.5f * 0.5f;
    for (auto const& it : found) {
      if (it.first[0] < '2') continue;
      CAPTURE(it.first);
      auto const &before = a.at(it.first), &last = b.at(it.first);
      for (std::size_t i = 0; i < it.second.size(); ++i)
        CHECK(std::abs(it.second[i] - bias * (before[i] + 2 * last[i]) / 3) <= 1e-6f);
    }
  }
}

TEST_CASE("plain steps are refused with delayed gradients") {
  auto const& net = tiny_problem();
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const exact = search::data_parallel(net, m.topology(), m.machine());
  auto const plain = plain_at_first(net, exact, wires::with_feedback(wires::int8), m.machine());
  char const* const lost = "gradients are delayed, but those under way when plain steps end";
  CHECK(has(message_of([&] { sync::delayed{1}(net, plain, m.machine()); }),
            std::string("sync::delayed: ") + lost));
  auto delayed = plain;
  for (auto& c : delayed.choices)
    for (auto& p : c.parameters) p.delay = 1;
  auto const placed = message_of([&] { nn::place<float>(tiny_gpt, m, delayed, 7); });
  CHECK(has(placed, std::string("nn::place: ") + lost));
  auto const first = sync::delayed{1}(net, exact, m.machine());
  auto const encoded = message_of(
      [&] { plain_at_first(net, first, wires::with_feedback(wires::int8), m.machine()); });
  CHECK(has(encoded, std::string("sync::encoded: ") + lost));
}

TEST_CASE("momentum is refused without plain steps, and by an optimizer that does not take it") {
  auto const& net = tiny_problem();
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const exact = search::data_parallel(net, m.topology(), m.machine());
  auto const wire = wires::with_momentum(wires::one_bit);
  CHECK(has(message_of([&] { sync::encoded{wire}(net, exact, m.machine()); }),
            "sync::encoded: a wire with momentum begins after plain steps"));
  auto plan = plain_at_first(net, exact, wire, m.machine());
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  CHECK(has(message_of([&] { train::trainer(model, train::sgd{.lr = 0.1}); }),
            "wires of the plan send the momentum of gradients, which this optimizer does not"));
  plan.plain_steps = 0;
  CHECK(has(message_of([&] { nn::place<float>(tiny_gpt, m, plan, 7); }),
            "nn::place: a wire with momentum begins after plain steps"));
  plan.plain_steps = 1;
  plan.choices[0].parameters[0].wire = wires::with_feedback(wires::one_bit);
  CHECK(has(message_of([&] { nn::place<float>(tiny_gpt, m, plan, 7); }),
            "the plan sends the momentum of one use of the parameter"));
}

TEST_CASE("biases, gains and, if wanted, embedding tables are sent exactly") {
  auto const& net = tiny_problem();
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const exact = search::data_parallel(net, m.topology(), m.machine());
  for (auto const& wire : {wires::one_bit, wires::top_k(4), wires::int8}) {
    auto const plan = sync::encoded{wire}(net, exact, m.machine());
    for (int i = 0; i < net.size(); ++i)
      for (int k = 0; k < plan[i].parameters.size(); ++k) {
        bool const is_matrix = net.spec(i).parameters[k].extents.rank() > 1;
        CHECK(plan[i].parameters[k].wire.is_exact() == (!is_matrix && wire.distorts_squares()));
      }
    // The embedding and the output embedding share one embedding table. The parameter with the
    // positions does not count as an embedding table, since a step reads all its rows.
    auto const tables = sync::encoded{.wire = wire, .exact_tables = true}(net, exact, m.machine());
    for (int i = 0; i < net.size(); ++i)
      for (int k = 0; k < plan[i].parameters.size(); ++k) {
        bool const is_table = std::string(net.spec(i).parameters[k].name.text) == "table";
        CHECK(tables[i].parameters[k].wire.is_exact() ==
              (is_table || plan[i].parameters[k].wire.is_exact()));
      }
    CHECK(has_wires(tables));
    CHECK(has(sync::explain_wire(net, exact, m.machine(), wire),
              "biases and gains, of one dim, are sent exactly") == wire.distorts_squares());
  }
}

TEST_CASE("a training with plain steps continues bit for bit from a checkpoint") {
  auto const& net = tiny_problem();
  ashlar::mesh const m(MPI_COMM_WORLD, ashlar::topology{{"gpu", world_size()}},
                       ashlar::machines::workstation);
  auto const plan = plain_at_first(net, search::data_parallel(net, m.topology(), m.machine()),
                                   wires::with_momentum(wires::one_bit), m.machine());
  auto const trained = losses_of_steps(m, plan, train::overlap::as_planned);
  for (int const at : {plain_count - 1, plain_count, plain_count + 1}) {
    shared_folder const f;
    CAPTURE(at);
    double rate = 1;
    train::trainer_options options;
    options.clip = 1;
    options.schedule = [&](std::int64_t) { return rate; };
    {
      auto model = nn::place<float>(tiny_gpt, m, plan, 7);
      train::trainer trainer(model, train::adam_w{.lr = 0.01}, options);
      for (int step = 0; step < at; ++step) trainer.step(tiny_batch(step));
      CHECK(checkpoint::wire_arrays_of(trainer).empty() == (at <= plain_count));
      checkpoint::save(f.path(), trainer);
    }
    auto model = nn::place<float>(tiny_gpt, m, plan, 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.01}, options);
    // resume() discards the results of these steps.
    for (int step = 0; step < plain_count + 1; ++step) trainer.step(tiny_batch(9));
    auto const found = checkpoint::resume(f.path(), trainer);
    REQUIRE(found);
    CHECK(found->metadata.contains(checkpoint::squares_key) == (at > plain_count));
    rate = std::nan("");
    CHECK(has(message_of([&] { trainer.step(tiny_batch(at)); }), "the schedule returns nan"));
    rate = 1;
    if (at >= plain_count) {
      CHECK(has(message_of([&] { trainer.step(tiny_batch(at)); }), "an earlier step failed"));
      CHECK(has(message_of([&] { checkpoint::save(f.path(), trainer); }),
                "an earlier step failed after wires with momentum had averaged"));
      CHECK(checkpoint::resume(f.path(), trainer));
    }
    for (std::size_t step = static_cast<std::size_t>(at); step < trained.size(); ++step)
      CHECK(trainer.step(tiny_batch(static_cast<std::int64_t>(step))).loss == trained[step]);
  }
}

TEST_CASE("stages of a pipeline have plain steps, and all ranks the same number of them") {
  auto const& net = tiny_problem();
  ashlar::topology const whole{{"stage", 2}, {"gpu", world_size() / 2}};
  ashlar::mesh const m(MPI_COMM_WORLD, whole, ashlar::machines::workstation);
  auto const data = search::data_parallel(net, search::stage_mesh(whole, 0, 2), m.machine());
  auto const staged = [&](search::plan const& p) { return in_tiny_stages(net, p, m.machine()); };
  auto const wire = wires::with_feedback(wires::one_bit);
  if (world_size() == 4) {
    auto const plan = staged(plain_at_first(net, data, wire, m.machine()));
    CHECK(differ_after_plain_steps(losses_of_steps(m, plan, train::overlap::none),
                                   losses_of_steps(m, staged(data), train::overlap::none)));
  }
  ashlar::mesh const flat(MPI_COMM_WORLD, ashlar::topology{{"gpu", world_size()}},
                          ashlar::machines::workstation);
  auto plan = plain_at_first(net, search::data_parallel(net, flat.topology(), flat.machine()), wire,
                             flat.machine());
  plan.plain_steps += world_rank();
  CHECK(has(message_of([&] { nn::place<float>(tiny_gpt, flat, plan, 7); }),
            "the ranks have different plans"));
  plan.plain_steps = -1;
  CHECK(has(message_of([&] { nn::place<float>(tiny_gpt, flat, plan, 7); }),
            "nn::place: plain_steps is below 0. Write 0 or more."));
}

}  // namespace ashlar_test
