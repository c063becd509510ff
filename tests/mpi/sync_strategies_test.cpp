// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4
// thorough: ASHLAR_SYNC_STEPS=20 1 2 3 4 6 8

// Tests training with each builder of a synchronization strategy (sync/named.hpp), on meshes of one
// and two axes:
//
// - the training equals training on one process, with exactly the collectives that search::schedule
//   predicts,
// - updated parameters may be sent during the next forward pass, with the same bits and bytes,
// - the training equals training with all-reduces bit for bit if sums add the values in the order
//   of the ranks (sum_order::by_rank), and on two ranks in any case. This holds on both transports,
//   with and without overlap, and if the strategy of each parameter is drawn at random,
// - the losses of a pipeline equal those with all-reduces,
// - the calls of MPI move the bytes that the plan predicts,
// - the memory that stays in use between steps is close to the predicted memory,
// - a checkpoint that was saved under one strategy continues under another one.

#include <cstdlib>
#include <map>
#include <random>

#include <doctest/doctest.h>
#include <support/all_values.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/shared_folder.hpp>
#include <support/tiny_gpt.hpp>
#include <support/traffic_check.hpp>
#include <support/training_trial.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace train = ashlar::train;

template <class T>
search::problem problem_of() {
  return any_length(nn::describe<T>(tiny_gpt, tiny_tokens));
}

/// All values of a training by their names, gathered on every rank.
using values = std::map<std::string, std::vector<double>>;

std::int64_t bytes_of(std::vector<ashlar::collective_record> const& records) {
  std::int64_t sum = 0;
  for (auto const& r : records) sum += r.received_bytes;
  return sum;
}

/// Returns the loss of one micro-batch, without a step.
template <class Model>
double loss_of(Model& model) {
  auto const data = tiny_batch(3);
  auto const half = [](auto const& all) { return std::span(all).first(all.size() / 2); };
  return model.evaluate(half(data.inputs), half(data.targets));
}

/// Returns the number of steps of a training: the value of ASHLAR_SYNC_STEPS, or three.
int steps_to_train() {
  char const* const wanted = std::getenv("ASHLAR_SYNC_STEPS");
  return wanted == nullptr ? 3 : std::atoi(wanted);
}

/// Returns the losses of a training under the name "losses" and, unless the plan is a pipeline, all
/// values after the training.
template <class T, class Plan>
values trained(ashlar::mesh const& m, Plan const& plan, train::overlap how) {
  auto model = nn::place<T>(tiny_gpt, m, plan, 7);
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = how});
  std::vector<double> losses;
  for (int step = 0; step < steps_to_train(); ++step)
    losses.push_back(trainer.step(tiny_batch(step)).loss);
  losses.push_back(loss_of(model));
  if constexpr (!std::is_same_v<Plan, search::plan>) return {{"losses", losses}};
  else {
    auto all = all_values(trainer);
    all["losses"] = losses;
    return all;
  }
}

/// Returns the plan that each builder makes of the plan `plain`, and behind these some plans in
/// which each parameter has the strategy of a random builder.
std::vector<search::plan> strategies_of(search::problem const& net, search::plan const& plain,
                                        ashlar::machine const& m) {
  std::vector<search::plan> plans;
  // parameters[i] has the choices for all parameters in plans[i].
  std::vector<std::vector<search::parameter_choice>> parameters;
  for (auto const name : sync::names()) {
    plans.push_back(sync::named(name, net, plain, m));
    auto& all = parameters.emplace_back();
    sync::changed_plan("test", net, plans.back(), m,
                       [&](auto& p, auto const&) { all.push_back(p); });
  }
  std::mt19937 random(5);
  for (int i = 0; i < 4; ++i) {
    std::size_t k = 0;
    plans.push_back(sync::changed_plan("test", net, plain, m, [&](auto& p, auto const&) {
      p = parameters[random() % parameters.size()][k++];
    }));
  }
  return plans;
}

}  // namespace

TEST_CASE("every builder trains like one process, with the bytes that its plan predicts") {
  for (auto m : all_meshes()) {
    if (m.axes() > 2) continue;
    training_trial it(tiny_gpt, tiny_tokens, m, 11, 11);
    for (bool const checked : {false, true}) {
      m.set_checked(checked);
      check_strategies(it, m);
    }
  }
}

TEST_CASE("every strategy that sums by rank gives the bits of all-reduces") {
  auto const same = [](ashlar::mesh const& m, auto type) {
    using T = decltype(type);
    auto const net = problem_of<T>();
    auto const plain = sync::all_reduce{}(
        net, search::data_parallel(net, m.topology(), m.machine()), m.machine());
    auto const expected = trained<T>(m, plain, train::overlap::none);
    int number = 0;
    for (auto const& plan : strategies_of(net, plain, m.machine())) {
      CAPTURE(number++);
      for (auto const how : {train::overlap::none, train::overlap::as_planned})
        CHECK(trained<T>(m, plan, how) == expected);
    }
  };
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"node", 1}, {"gpu", world_size()}});
    if (world_size() == 2) same(m, float{});  // a sum of two addends does not depend on their order
    m.set_sum_order(ashlar::sum_order::by_rank);
    same(m, float{});
    if (world_size() <= 2) same(m, double{});
  }
}

TEST_CASE("the order of sums matters from three ranks on") {
  if (world_size() < 3) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const net = problem_of<float>();
  auto const plan = search::data_parallel(net, m.topology(), m.machine());
  auto const around_ring = trained<float>(m, plan, train::overlap::none);
  m.set_sum_order(ashlar::sum_order::by_rank);
  CHECK(trained<float>(m, plan, train::overlap::none) != around_ring);
}

TEST_CASE("updated parameters that travel in buckets or in the next step have the same bits") {
  auto const compare = [](transport on, ashlar::machine const& machine, bool in_next_step) {
    auto const m = mesh_on(on, {{"gpu", world_size()}}, machine);
    auto const net = problem_of<float>();
    auto const plain = search::data_parallel(net, m.topology(), m.machine());
    for (auto const* const name : {"zero1", "owners"}) {
      CAPTURE(std::string(name));
      auto const plan = sync::named(name, net, plain, m.machine());
      auto model = nn::place<float>(tiny_gpt, m, plan, 7);
      train::trainer trainer(model, train::adam_w{});
      int buckets = 0;
      for (auto const& move : trainer.program().moves)
        buckets += move.phase == search::phase::renew && move.bucket >= 0;
      if (std::string(name) == "zero1" && world_size() > 1) {
        CHECK(buckets > 0);
        CHECK(trainer.program().renews_first == in_next_step);
      }
      CHECK(trained<float>(m, plan, train::overlap::as_planned) ==
            trained<float>(m, plan, train::overlap::none));
      for (int step = 0; step < 3; ++step) {  // every step moves the bytes of the plan
        ashlar::communication_log const log(m);
        trainer.step(tiny_batch(step));
        CHECK(bytes_of(log.records()) == bytes_of(expected_records(net, plan, m)));
      }
      // A step of another trainer on the same model must read the values that the last update has
      // made.
      auto reference = nn::place<float>(tiny_gpt, m, plan, 7);
      train::trainer serial(reference, train::adam_w{}, {.overlap = train::overlap::none});
      for (int step = 0; step < 3; ++step) serial.step(tiny_batch(step));
      train::trainer other(model, train::sgd{.lr = 0}, {.overlap = train::overlap::none});
      CHECK(other.step(tiny_batch(2)).loss == serial.step(tiny_batch(2)).loss);
    }
  };
  for (auto const on : {transport::messages, transport::shared_memory}) {
    compare(on, slow_messages, false);
    compare(on, slow_computation, true);
  }
}

TEST_CASE("pipelines: both uses of a tied parameter, in stages of one and two ranks") {
  if (world_size() != 2 && world_size() != 4) return;
  auto const net = problem_of<double>();
  ashlar::topology const whole{{"stage", 2}, {"gpu", world_size() / 2}};
  ashlar::mesh const m(MPI_COMM_WORLD, whole, ashlar::machines::workstation);
  auto const inner = search::stage_mesh(whole, 0, 2);
  auto const plain = search::data_parallel(net, inner, m.machine());
  auto const in_stages = [&](search::plan const& p) { return in_tiny_stages(net, p, m.machine()); };
  auto const expected = trained<double>(m, in_stages(plain), train::overlap::none).at("losses");
  for (auto const name : sync::names()) {
    CAPTURE(name);
    auto const plan = in_stages(sync::named(name, net, plain, m.machine()));
    auto const found = trained<double>(m, plan, train::overlap::none).at("losses");
    CHECK(found == expected);
    CHECK(plan.chosen.seconds > 0);
  }
}

TEST_CASE("the bytes asked of MPI are those of the plan") {
  for (auto const& name : {"zero1", "owners", "hybrid"}) {
    auto const m = mesh_on(transport::messages, {{"gpu", world_size()}});
    auto const net = problem_of<float>();
    auto const plan = sync::named(name, net, search::data_parallel(net, m.topology(), m.machine()),
                                  m.machine());
    auto model = nn::place<float>(tiny_gpt, m, plan, 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = train::overlap::none});
    traffic_check const check(m);
    trainer.step(tiny_batch(0));
    CHECK(check.difference(expected_records(net, plan, m)) == "");
  }
}

TEST_CASE("what outlasts a step takes the memory that is predicted, and no more in later steps") {
  if (world_size() != 2 && world_size() != 4) return;
  // The size of each whole tensor in bytes is one of the allocator's block sizes
  // (support/size_class.hpp), so only small shards are padded.
  auto const net = nn::tied(nn::embedding(256, 64), nn::repeat(2, nn::gpt_block(64, 4)),
                            nn::layer_norm(64), nn::output_embedding(64, 256));
  nn::token_batch const tokens{8, 16, 2};
  auto const problem = any_length(nn::describe<double>(net, tokens));
  auto const data = random_batch<std::int32_t>(tokens, 256, 256, 1);
  for (std::string const name : {"all-reduce", "zero1", "zero3"}) {
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
    auto const before = m.memory().bytes_in_use();
    auto const plan = sync::named(
        name, problem, search::data_parallel(problem, m.topology(), m.machine()), m.machine());
    auto model = nn::place<double>(net, m, plan, 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = train::overlap::none});
    CHECK(search::high_water(trainer.program()).peak == plan.memory);
    auto predicted = search::lasting_bytes(trainer.program());
    for (auto const& v : trainer.program().values)
      if (v.kind == search::value_kind::gradient) predicted += v.bytes;
    std::size_t peak = 0, in_use = 0;
    for (int step = 0; step < 4; ++step) {
      m.memory().reset_peak();
      trainer.step(data);
      if (step == 1) peak = m.memory().peak_bytes(), in_use = m.memory().bytes_in_use();
      if (step < 2) continue;
      CHECK(m.memory().peak_bytes() == peak);
      CHECK(m.memory().bytes_in_use() == in_use);
    }
    auto const measured = static_cast<std::int64_t>(in_use - before);
    CAPTURE(name);
    CHECK(measured >= predicted);
    CHECK(measured <= predicted + 16384);  // room for a step's totals and padded shards
  }
}

TEST_CASE("a checkpoint continues under another strategy with the same values") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const net = problem_of<float>();
  auto const plain = search::data_parallel(net, m.topology(), m.machine());
  auto const under = [&](std::string_view name, auto work) {
    auto model = nn::place<float>(tiny_gpt, m, sync::named(name, net, plain, m.machine()), 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.01});
    work(trainer, model);
  };
  shared_folder const folder;
  values saved;
  double loss = 0;
  under("zero1", [&](auto& trainer, auto&) {
    for (int step = 0; step < 2; ++step) trainer.step(tiny_batch(step));
    checkpoint::save(folder.path(), trainer);
    saved = all_values(trainer);
    loss = trainer.step(tiny_batch(2)).loss;
  });
  for (auto const name : {"all-reduce", "zero3", "owners", "zero1"})
    under(name, [&](auto& trainer, auto& model) {
      CAPTURE(name);
      checkpoint::resume(folder.path(), trainer);
      CHECK(all_values(trainer) == saved);
      // Some parameters are updated at another placement than the one at which copies are stored.
      // These copies must have the loaded values, too. The expected loss of the next step shows
      // this.
      CHECK(near(trainer.step(tiny_batch(2)).loss, loss, 1e-6));
      model.for_each_parameter([&](auto& p) {
        bool const apart = std::string(name) == "zero1" || std::string(name) == "owners";
        CHECK((p.is_updated_apart() == (apart && world_size() > 1)));
      });
    });
}

TEST_CASE("parameters that code other than a trainer changes are renewed") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const net = problem_of<float>();
  auto const plan = sync::zero<1>{}(net, search::data_parallel(net, m.topology(), m.machine()),
                                    m.machine());
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  double const before = loss_of(model);
  model.for_each_parameter([](auto& p) {
    auto const shards = p.template shards<float>();
    for (std::int64_t i = 0; i < shards.elements; ++i) shards.value[i] = 0;
  });
  model.renew();
  CHECK(loss_of(model) != before);
  model.for_each_parameter([](auto const& p) {
    auto const& stored = p.source();
    for (std::int64_t i = 0; i < stored.local_elements(); ++i)
      CHECK(stored.template data_as<float>()[i] == 0);
  });
}

}  // namespace ashlar_test
