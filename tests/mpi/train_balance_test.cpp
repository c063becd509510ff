// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4
// thorough: ASHLAR_EXPERTS=all 1 2 3 4 6 8

// Tests balance losses over groups of several micro-batches (moe_options::balance_over). A loss
// over two micro-batches must be that of one micro-batch that has the tokens of both. Losses must
// depend neither on mesh nor on plan nor on how many micro-batches take turns, and training must
// have the same bits with and without overlap. Gradients must be those of finite differences at
// fixed routes. If the micro-batches that take turns are no whole groups, there must be an error.
// The environment variable ASHLAR_EXPERTS=all runs more plans.

#include <span>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/slope_errors.hpp>
#include <support/wants_all.hpp>

#include <ashlar/nn/moe.hpp>
#include <ashlar/nn/route_book.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/price_pipeline.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

constexpr int balanced_ids = 997;  // so many that tokens seldom have equal ids, and so equal gates
constexpr nn::moe_options over_two{
    .experts = 4, .chosen = 2, .hidden = 3, .balance = 0.3, .balance_over = 2, .z_loss = 0.2};

auto balanced_net(nn::moe_options const& o) {
  return nn::chain(nn::embedding(balanced_ids, 4, nn::no_positions),
                   nn::repeat(2, nn::residual(nn::moe(4, o))), nn::linear(4, 5));
}

search::problem balanced_problem(nn::moe_options const& o, nn::token_batch const& batch,
                                 int interleaved) {
  auto problem = search::any_length(nn::describe<double>(balanced_net(o), batch));
  problem.interleaved = interleaved;
  return problem;
}

/// Losses, balance losses and gradient norms of three steps, and the parameters after them.
struct balanced_training {
  std::vector<double> losses, balance_losses, norms;
  whole_parameters parameters;
  friend bool operator==(balanced_training const&, balanced_training const&) = default;
};

balanced_training train_balanced(nn::moe_options const& o, nn::token_batch const& batch,
                                 ashlar::mesh const& m, search::plan plan, int interleaved,
                                 train::overlap how = train::overlap::as_planned) {
  predict(plan, balanced_problem(o, batch, interleaved), m.machine());
  auto model = nn::place<double>(balanced_net(o), m, plan, 7);
  train::trainer t(model, train::sgd{.lr = 0.5}, {.overlap = how});
  balanced_training made;
  for (unsigned s = 0; s < 3; ++s) {
    auto const r = t.step(random_batch<std::int32_t>(batch, balanced_ids, 5, s));
    made.losses.push_back(r.loss);
    made.balance_losses.push_back(r.balance_loss);
    made.norms.push_back(r.gradient_norm);
  }
  made.parameters = values_of(model);
  return made;
}

balanced_training train_alone(nn::moe_options const& o, nn::token_batch const& batch,
                              int interleaved) {
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto const problem = balanced_problem(o, batch, interleaved);
  return train_balanced(o, batch, alone, plan_source(problem, alone).whole(), interleaved);
}

bool are_near(std::vector<double> const& a, std::vector<double> const& b) {
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i) all = near(a[i], b[i], 1e-11);
  return all;
}

void check_near(balanced_training const& a, balanced_training const& b) {
  CHECK(are_near(a.losses, b.losses));
  CHECK(are_near(a.balance_losses, b.balance_losses));
  CHECK(are_near(a.norms, b.norms));
  CHECK(difference(a.parameters, b.parameters) < 1e-11);
}

}  // namespace

TEST_CASE("a balance loss over two micro-batches is that of one with the tokens of both") {
  auto of_one = over_two;
  of_one.balance_over = 1;
  auto const whole = train_alone(of_one, {4, 3, 1}, 1);
  auto const both = train_alone(over_two, {2, 3, 2}, 2);
  check_near(both, whole);
  CHECK(!are_near(train_alone(of_one, {2, 3, 2}, 2).balance_losses, whole.balance_losses));
  // Each balance loss is that of two micro-batches, even if four take turns.
  auto const four = train_alone(over_two, {2, 3, 4}, 2);
  CHECK(train_alone(over_two, {2, 3, 4}, 4) == four);
  CHECK(!are_near(train_alone(of_one, {2, 3, 4}, 2).balance_losses, four.balance_losses));
}

TEST_CASE("the last group may be smaller") {
  auto of_one = over_two, of_three = over_two;
  of_one.balance_over = 1;
  of_three.balance_over = 3;
  check_near(train_alone(of_three, {2, 3, 3}, 3), train_alone(of_one, {6, 3, 1}, 1));
  // In the first step, all these trainings have equal parameters, and their k-th micro-batches have
  // equal tokens. So `last` is the balance loss of the third micro-batch alone.
  auto const at_first = [](nn::moe_options const& o, int micro_batches) {
    return train_alone(o, {2, 3, micro_batches}, o.balance_over).balance_losses[0];
  };
  double const last = 3 * at_first(of_one, 3) - 2 * at_first(of_one, 2);
  CHECK(near(at_first(over_two, 3), (2 * at_first(over_two, 2) + last) / 3, 1e-11));
  CHECK(!near(at_first(over_two, 3), at_first(of_three, 3), 1e-6));
}

TEST_CASE("a balance loss over micro-batches depends neither on mesh nor on plan") {
  for (auto const& batch : {nn::token_batch{2, 3, 4}, nn::token_batch{3, 2, 3}}) {
    int const interleaved = 2;
    auto const right = train_alone(over_two, batch, interleaved);
    auto const problem = balanced_problem(over_two, batch, interleaved);
    for (auto const& m : all_meshes(even_machine)) {
      auto const& t = m.topology();
      std::vector<search::plan> plans{search::zero_3(problem, t, m.machine()),
                                      search::expert_parallel(problem, t, m.machine())};
      bool const all = wants_all("ASHLAR_EXPERTS");
      if (all) plans.push_back(search::data_parallel(problem, t, m.machine()));
      if (all) plans.push_back(search::tensor_parallel(problem, t, m.machine()));
      plan_source const source(problem, m);
      std::mt19937 random(3);
      for (int i = 0; i < (all ? 20 : 1); ++i) plans.push_back(source.random(random));
      for (auto const& plan : plans) {
        CAPTURE(describe(problem, plan));
        auto const serial = train_balanced(over_two, batch, m, plan, interleaved,
                                           train::overlap::none);
        check_near(serial, right);
        CHECK(train_balanced(over_two, batch, m, plan, interleaved) == serial);
      }
    }
  }
}

TEST_CASE("gradients of a balance loss over micro-batches are those of finite differences") {
  constexpr nn::token_batch batch{2, 3, 3};
  auto o = over_two;
  o.capacity = 0.8;
  auto const net = balanced_net(o);
  auto const problem = balanced_problem(o, batch, 2);
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto model = nn::place<double>(net, alone, plan_source(problem, alone).whole(), 7);
  auto const program = model.program();
  auto walker = model.make_executor(program);
  auto data = random_batch<std::int32_t>(batch, 7, 5, 3);
  auto const total = [&] {
    model.clear_gradients();
    CHECK(model.mixtures().told.empty());
    double sum = 0;
    walker.run(0, walker.first_update(), model.input_of(data.inputs, data.targets, 0, &sum));
    auto const of_routers = model.mixtures().sums();
    CHECK(of_routers.balance_loss > 0);
    return sum / static_cast<double>(data.targets.size()) + of_routers.balance_loss +
           of_routers.z_loss;
  };
  nn::record_routes(model);
  total();
  nn::replay_routes(model, nn::recorded_routes(model));
  total();
  walker.hand_out_gradients();
  auto const gradients = gradients_of(model);
  CHECK(worst_slope_error(model, values_of(model), gradients, total, 28) < 1e-8);
}

TEST_CASE("too few micro-batches take turns for a balance loss") {
  constexpr nn::token_batch batch{2, 3, 4};
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const net = balanced_net(over_two);
  auto const place = [&](int interleaved) {
    auto const problem = balanced_problem(over_two, batch, interleaved);
    return nn::place<double>(net, m, plan_source(problem, m).whole());
  };
  for (int const k : {1, 3})
    CHECK(has(message_of([&] { place(k); }),
              "(dispatch) needs the forward passes of 2 micro-batches before its backward passes, "
              "but " +
                  std::to_string(k) +
                  " of 4 take turns. Set interleaved to a multiple of 2. In nn::moe, "
                  "moe_options::balance_over is this number."));
  CHECK(message_of([] { nn::moe(4, {.balance_over = 0}); }) ==
        "nn::moe: the balance loss is over 0 micro-batches. Give 1 or more.");
  auto serial = balanced_problem(over_two, batch, 1);
  CHECK(has(message_of([&] { search::data_parallel(serial, m.topology(), m.machine()); }),
            "needs the forward passes of 2 micro-batches before its backward passes, but 1 of 4 "
            "take turns."));
  // If a search may choose how many micro-batches take turns, it leaves out numbers that do not
  // fit.
  serial.interleaved = 0;
  serial.overlap = true;
  CHECK(search::optimal(serial, m.topology(), m.machine()).interleaved % 2 == 0);
  serial.micro_batches = 1;
  CHECK(has(message_of([&] { search::optimal(serial, m.topology(), m.machine()); }),
            "needs the forward passes of 2 micro-batches before its backward passes, but 1 of 1 "
            "take turns."));
  // Micro-batches that are accumulated one by one take no turns.
  auto model = place(2);
  auto const data = random_batch<std::int32_t>(batch, balanced_ids, 5, 1);
  CHECK(has(message_of([&] {
              model.accumulate(std::span(data.inputs).first(6), std::span(data.targets).first(6),
                               0);
            }),
            "nn::dispatch: the balance loss is over 2 micro-batches, but one of them has not taken "
            "its forward pass. Let a multiple of so many micro-batches take turns "
            "(problem::interleaved)."));
  if (world_size() % 2 != 0) return;
  ashlar::mesh const staged(MPI_COMM_WORLD, {{"stage", 2}, {"gpu", world_size() / 2}});
  auto const problem = balanced_problem(over_two, batch, 1);
  auto const whole =
      plan_source(problem, {{"stage", 1}, {"gpu", world_size() / 2}}, m.machine()).whole();
  CHECK(has(message_of([&] {
              nn::place<double>(net, staged,
                                search::price_pipeline(problem, whole, {0, 1, problem.size()},
                                                       {0, 0}, 0, 4, m.machine()));
            }),
            "needs the forward passes of 2 micro-batches before its backward passes, but 1 of 4 "
            "take turns."));
}

}  // namespace ashlar_test
