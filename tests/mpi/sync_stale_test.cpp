// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests trainings with stale parameters (train/stale_training.hpp):
//
// - With a staleness of 0, parameters have the bits of synchronous owners, with SGD and AdamW. This
//   also holds if the training settles in between, is saved, or goes on in another trainer, and
//   after steps whose gradients AdamW has not squared.
// - With a staleness of 1, the first step of SGD is the synchronous one, except for rounding.
// - While a rank stalls, the others take as many steps as the staleness allows. With a longer
//   staleness, fewer reads wait.
// - A step with this rank's part of the batch communicates only by letters (comm/mpi/mailbox.hpp),
//   also in the checked mode of the mesh.
// - After settle(), all ranks have the same values, and the net has learned.
// - What needs synchronous steps is refused with an error of one sentence.

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <support/local_part.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/tiny_gpt.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/sync/owners.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;
namespace train = ashlar::train;

constexpr int stale_steps = 5;

ashlar::mesh stale_mesh(transport on) {
  auto const m = mesh_on(on, {{"gpu", world_size()}});
  m.set_sum_order(ashlar::sum_order::by_rank);
  return m;
}

search::plan data_plan(ashlar::mesh const& m) {
  return search::data_parallel(tiny_problem(), m.topology(), m.machine());
}
search::plan owners_plan(ashlar::mesh const& m, int staleness) {
  return sync::owners{.staleness = staleness}(tiny_problem(), data_plan(m), m.machine());
}

/// The results of a training: the mean loss of all ranks' samples in each step, the parameters, and
/// the loss of the net on another batch.
struct stale_course {
  std::vector<double> losses;
  whole_parameters values;
  double evaluated;
};

/// Trains with a plan. If `pause` is positive, also calls settle() after this number of steps.
template <class Optimizer>
stale_course trained(ashlar::mesh const& m, search::plan const& plan, Optimizer const& optimizer,
                     int pause = 0) {
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  stale_course made;
  {
    train::trainer trainer(model, optimizer, {.schedule = train::warmup_cosine{2, 10, 0.1}});
    // With staleness, a rank reports the mean loss of its own samples. On 4 ranks, two have more
    // samples than the others, so each loss is weighted by its share of the samples.
    double const share = is_stale(plan) ? double(trainer.part().target.elements()) /
                                              double(model.target_extents().elements())
                                        : 1;
    for (int step = 0; step < stale_steps; ++step) {
      made.losses.push_back(trainer.step(tiny_batch(step)).loss * share);
      if (step + 1 == pause) {
        trainer.settle();
        made.values = values_of(model);  // collective, like saving a checkpoint
      }
    }
    trainer.settle();
    trainer.settle();  // the second call does nothing
  }
  made.values = values_of(model);
  auto const other = tiny_batch(99);
  made.evaluated = model.evaluate(other.inputs, other.targets);
  if (is_stale(plan)) m.all_reduce(std::span(made.losses));
  return made;
}

template <class Optimizer>
void check_synchronous_bits(Optimizer const& optimizer) {
  for (auto const on : {transport::messages, transport::shared_memory}) {
    CAPTURE(to_string(on));
    auto const m = stale_mesh(on);
    auto const right = trained(m, owners_plan(m, search::synchronous), optimizer);
    sync::owners const one{.among = sync::dealing::one_rank, .staleness = 0};
    for (int const pause : {0, 2, -1}) {
      // -1 stands for a training without a pause in which rank 0 owns all parameters.
      auto const plan = pause >= 0 ? owners_plan(m, 0)
                                   : one(tiny_problem(), data_plan(m), m.machine());
      auto const found = trained(m, plan, optimizer, pause);
      CHECK(found.values == right.values);
      CHECK(found.evaluated == right.evaluated);
      for (std::size_t i = 0; i < right.losses.size(); ++i)
        CHECK(found.losses[i] == doctest::Approx(right.losses[i]).epsilon(1e-5));
    }
  }
}

/// Returns whether all ranks store the same values of the parameters.
template <class Model>
bool copies_are_equal(ashlar::mesh const& m, Model& model) {
  bool equal = true;
  model.for_each_parameter([&](auto const& p) {
    auto const& stored = p.source();
    std::vector<float> own(static_cast<std::size_t>(stored.local_elements()));
    std::memcpy(own.data(), stored.data(), own.size() * sizeof(float));
    auto of_first = own;
    m.broadcast(std::span(of_first), 0);
    equal = equal && own == of_first;
  });
  return equal;
}

/// Takes `stale_steps` steps with several trainers. Each trainer takes at most three of the steps,
/// and then end(trainer) is called.
template <class Model, class End>
void train_in_threes(Model& model, End const& end) {
  for (int first = 0; first < stale_steps; first += 3) {
    train::trainer trainer(model, train::sgd{.lr = 0.1},
                           {.schedule = train::warmup_cosine{2, 10, 0.1}});
    trainer.continue_after(first);
    for (int step = first; step < std::min(first + 3, stale_steps); ++step)
      trainer.step(tiny_batch(step));
    end(trainer);
  }
}

}  // namespace

TEST_CASE("with a staleness of 0, training has the bits of synchronous owners") {
  if (world_size() == 1) return;
  check_synchronous_bits(train::sgd{.lr = 0.1, .momentum = 0.5, .weight_decay = 0.01});
  check_synchronous_bits(train::adam_w{.lr = 0.02});
}

TEST_CASE("with a staleness of 1, the first step of SGD is the synchronous one") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  auto batch = tiny_batch(0);  // all samples become equal
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    batch.inputs[i] = static_cast<std::int32_t>(i % 4 * 3);
    batch.targets[i] = static_cast<std::int32_t>(i % 4 * 2 + 1);
  }
  whole_parameters before, right, found;
  double right_norm = 0;
  for (int const staleness : {search::synchronous, 1}) {
    auto model = nn::place<float>(tiny_gpt, m, owners_plan(m, staleness), 7);
    before = values_of(model);
    train::trainer trainer(model, train::sgd{.lr = 0.5});
    double const norm = trainer.step(batch).gradient_norm;
    trainer.settle();
    (staleness == 1 ? found : right) = values_of(model);
    if (staleness != 1) {
      right_norm = norm;
      continue;
    }
    // A rank knows only the gradient of its own samples. It reports the norm that the sum over all
    // ranks would have if every rank had this same gradient.
    double const share = double(trainer.part().target.elements()) /
                         double(model.target_extents().elements());
    CHECK(norm == doctest::Approx(right_norm * share * m.ranks()).epsilon(1e-4));
  }
  CHECK(difference(before, right) > 1e-2);
  CHECK(difference(found, right) < 1e-4);
}

TEST_CASE("a stale training continues the numbers of squares of AdamW, and says what they are") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  auto const course = [&](int staleness, std::int64_t squares) {
    auto model = nn::place<float>(tiny_gpt, m, owners_plan(m, staleness), 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.02});
    std::string before, after;
    int every = 0;
    model.for_each_parameter([&](auto const& p) {
      if (every++ % 2 != 0) return;
      auto const further = std::int64_t{3} * (staleness == 1 ? m.ranks() : 1);
      before += std::to_string(squares) + ' ' + p.path() + '\n';
      after += std::to_string(squares + further) + ' ' + p.path() + '\n';
    });
    trainer.continue_after(9);  // 9 earlier steps, some of which did not square gradients
    if (squares >= 0) trainer.continue_squares(before);
    for (int step = 9; step < 12; ++step) trainer.step(tiny_batch(step));
    trainer.settle();
    CHECK(trainer.numbers_of_squares() == (squares >= 0 ? after : ""));
    trainer.continue_after(9);
    CHECK(trainer.numbers_of_squares() == "");
    return values_of(model);
  };
  auto const right = course(search::synchronous, 2);
  CHECK(course(0, 2) == right);
  CHECK(course(0, -1) != right);
  course(1, 2);
}

TEST_CASE("while a rank stalls, fewer reads wait with a longer staleness") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  std::int64_t deferred[2]{};
  for (int const staleness : {0, 4}) {
    CAPTURE(staleness);
    auto model = nn::place<float>(tiny_gpt, m, owners_plan(m, staleness), 7);
    train::trainer trainer(model, train::sgd{.lr = 0.1});
    REQUIRE(trainer.stale() != nullptr);
    auto const& owner = trainer.stale()->owner();
    auto const others_have_sent = [&](std::int64_t steps) {
      bool all = true;
      for (int r = 1; r < m.ranks(); ++r) all = all && owner.clock().received(r) >= steps;
      return all;
    };
    constexpr int steps = 4;
    for (int step = 0; step < steps; ++step) {
      // Rank 0 stalls until the other ranks can take no further step. With a staleness of 4, they
      // can take all steps. Rank 0 also waits for the gradient that it has sent to itself.
      while (m.rank() == 0 && step == 1 &&
             (owner.clock().received(0) < 1 || !others_have_sent(staleness == 0 ? 2 : steps) ||
              (staleness == 0 && owner.deferred() < m.ranks() - 1))) {
        m.progress();
        std::this_thread::yield();
      }
      if (m.rank() == 0 && step == 1) {
        CHECK(owner.clock().received(0) == 1);
        for (int r = 1; r < m.ranks(); ++r)
          CHECK(owner.clock().received(r) == (staleness == 0 ? 2 : steps));
      }
      trainer.step(tiny_batch(step));
    }
    m.barrier();  // only reads of steps are counted, not those of settle()
    auto& sum = deferred[staleness == 0 ? 0 : 1];
    sum = owner.deferred();
    m.all_reduce(std::span(&sum, 1));
    trainer.settle();
  }
  CHECK(deferred[0] >= m.ranks() - 1);
  CHECK(deferred[1] == 0);
}

TEST_CASE("stale ranks learn, and agree when they settle") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  auto const batch = tiny_batch(1);
  for (int const staleness : {1, 4, sync::asynchronous}) {
    CAPTURE(staleness);
    auto model = nn::place<float>(tiny_gpt, m, owners_plan(m, staleness), 7);
    double const before = model.evaluate(batch.inputs, batch.targets);
    std::mt19937 random(static_cast<unsigned>(m.rank()));
    ashlar::communication_log const log(m);
    {
      train::trainer trainer(model, train::adam_w{.lr = 0.02});
      for (int step = 0; step < 12; ++step) {
        for (auto n = random() % 50; n > 0; --n) m.progress();
        auto const report = trainer.step(batch);
        CHECK(std::isfinite(report.loss));
        CHECK(report.gradient_norm > 0);
      }
      CHECK(log.records().empty());  // letters are not recorded as transfers
      trainer.settle();
      // Each gradient of each rank has made an update of its own.
      CHECK(trainer.stale()->owner().clock().version() == 12 * m.ranks());
    }
    CHECK(copies_are_equal(m, model));
    CHECK(model.evaluate(batch.inputs, batch.targets) < 0.95 * before);
  }
}

TEST_CASE("a stale step with this rank's part of a batch waits for no rank in the checked mode") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  m.set_checked(true);
  auto model = nn::place<float>(tiny_gpt, m, owners_plan(m, 1), 7);
  train::trainer trainer(model, train::sgd{.lr = 0.1});
  ashlar::communication_log const log(m);
  for (int step = 0; step < 2; ++step) trainer.step(local_part(trainer, tiny_batch(step)));
  CHECK(log.records().empty());
  trainer.settle();
}

TEST_CASE("a stale training goes on in another trainer after it has settled") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  auto const plan = owners_plan(m, 0);
  auto const right = trained(m, plan, train::sgd{.lr = 0.1});
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  int arrays = 0;
  train_in_threes(model, [&](auto& trainer) {
    CHECK(has(message_of([&] { trainer.for_each_array([](auto&&...) {}); }),
              "trainer: parameters are stale, and their owners may still update them. Call "
              "settle() on every rank before a checkpoint."));
    CHECK(has(message_of([&] { trainer.continue_after(1); }), "Call settle() on every rank"));
    trainer.settle();
    trainer.for_each_array([&](auto&&...) { ++arrays; });
  });
  CHECK(arrays > 0);
  CHECK(values_of(model) == right.values);
}

TEST_CASE("a trainer that ends settles the parameters, for the model's next user") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  auto const plan = owners_plan(m, 0);
  auto const right = trained(m, plan, train::sgd{.lr = 0.1});
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  train_in_threes(model, [](auto&) {});
  CHECK(copies_are_equal(m, model));
  CHECK(values_of(model) == right.values);
}

TEST_CASE("a stale step that fails sends nothing, and can be repeated") {
  if (world_size() == 1) return;
  auto const m = stale_mesh(transport::messages);
  auto const plan = owners_plan(m, 0);
  auto const right = trained(m, plan, train::sgd{.lr = 0.1});
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  {
    train::trainer trainer(model, train::sgd{.lr = 0.1},
                           {.schedule = train::warmup_cosine{2, 10, 0.1}});
    for (int step = 0; step < stale_steps; ++step) {
      auto wrong = tiny_batch(step);
      wrong.inputs[0] = 11;
      CHECK(has(message_of([&] { trainer.step(wrong); }), "11"));
      CHECK(trainer.steps_done() == step);
      trainer.step(tiny_batch(step));
    }
    trainer.settle();
    CHECK(values_of(model) == right.values);
  }
  model.for_each_parameter([](auto& p) {
    if (p.source().local_elements() > 0)
      *static_cast<float*>(p.source().data()) = std::numeric_limits<float>::quiet_NaN();
  });
  train::trainer trainer(model, train::sgd{.lr = 0.1});
  for (int k = 0; k < 2; ++k)
    CHECK(has(message_of([&] { trainer.step(tiny_batch(0)); }),
              "trainer: at step 0 the loss of rank " + std::to_string(m.rank()) + " is "));
  CHECK(trainer.steps_done() == 0);
}

TEST_CASE("what needs synchronous steps is refused with stale parameters") {
  auto const m = stale_mesh(transport::messages);
  auto const& net = tiny_problem();
  if (world_size() == 1) {
    CHECK(has(message_of([&] { owners_plan(m, 1); }),
              "sync::owners: parameters are stale along one axis, but this mesh does not have "
              "exactly one axis with several ranks."));
    return;
  }
  auto const plan = owners_plan(m, 1);
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  CHECK(has(message_of([&] { train::trainer t(model, train::sgd{}, {.clip = 1}); }),
            "trainer: clip needs the norm of all gradients of a step, but parameters of the plan "
            "are stale, so no rank knows it."));
  std::vector<int> all(static_cast<std::size_t>(m.ranks()));
  std::iota(all.begin(), all.end(), 0);
  auto const part = m.part(all, {{"gpu", m.ranks()}});
  auto on_part = nn::place<float>(tiny_gpt, part, plan, 7);
  CHECK(has(message_of([&] { train::trainer t(on_part, train::sgd{}); }),
            "is a part of one. Place the net on the whole mesh, or give a plan without "
            "staleness."));
  auto const refusal = [&](search::plan const& wrong) {
    return message_of([&] { nn::place<float>(tiny_gpt, m, wrong, 7); });
  };
  auto wrong = plan;
  wrong.staleness = -1;
  CHECK(has(refusal(wrong), "nn::place: a staleness is 0 steps or more."));
  wrong = data_plan(m);
  wrong.staleness = 1;
  CHECK(has(refusal(wrong), "nn::place: a plan with staleness sends all gradients to owners"));
  wrong = plan;
  wrong.choices[0].parameters[0].wire = ashlar::wires::int8;
  CHECK(has(refusal(wrong), "nn::place: gradients of a plan with staleness are sent as they are"));
  auto const pipeline = [&] {
    auto const chosen = in_tiny_stages(net, plan, m.machine());
    return message_of([&] { nn::place<float>(tiny_gpt, m, chosen, 7); });
  };
  if (world_size() == 2)
    CHECK(has(pipeline(), "nn::place: stale parameters are not for pipeline stages."));
  {  // the ranks compare their plans
    auto other = plan;
    other.staleness += m.rank();
    CHECK(has(refusal(other), "the ranks have different plans"));
  }
}

}  // namespace ashlar_test
