// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4
// thorough: ASHLAR_TURNS=all 1 2 3 4 6 8

// Tests mixtures of experts whose micro-batches take turns, while rows of tokens move in the
// background (tensor/routed_steps.hpp). Losses, the losses of routers, gradient norms, routes and
// parameters must be bitwise equal to those of micro-batches that run one after another and whose
// moves all block. The routes are those that the router chooses, and others that give some rank no
// rows or all rows. The bytes of a step must be those that follow from the routes. The environment
// variable ASHLAR_TURNS=all runs 20 steps under every plan, and more random plans.

#include <algorithm>
#include <span>

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/routed_traffic.hpp>
#include <support/traffic_check.hpp>
#include <support/wants_all.hpp>

#include <ashlar/nn/moe.hpp>
#include <ashlar/nn/route_book.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/traffic.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace step = ashlar::step;
namespace train = ashlar::train;

constexpr nn::token_batch batch{4, 3, 4};
constexpr int tokens = 12;

auto net_of(nn::moe_options const& o) {
  return nn::chain(nn::embedding(97, 6), nn::repeat(2, nn::moe_block(6, 3, o, 0.2)),
                   nn::layer_norm(6), nn::linear(6, 7));
}

/// Returns how many moves of rows are under way while another action runs.
int rows_in_background(step::program const& p) {
  int n = 0;
  for (std::size_t i = 0; i + 1 < p.actions.size(); ++i) {
    auto const& a = p.actions[i];
    if (a.kind != step::action_kind::begin_move || !p.path_of(p.move_of(a)).extents.is_routed())
      continue;
    auto const& next = p.actions[i + 1];
    n += next.kind != step::action_kind::end_move || next.move != a.move;
  }
  return n;
}

struct training {
  std::vector<double> numbers;
  std::vector<std::vector<std::int32_t>> routes;
  whole_parameters parameters;
  friend bool operator==(training const&, training const&) = default;
};

training train_with(nn::moe_options const& o, ashlar::mesh const& m, search::problem problem,
                    search::plan plan, int interleaved, train::overlap overlap, unsigned steps,
                    nn::route_book const& book, int& in_background) {
  problem.interleaved = interleaved;
  predict(plan, problem, m.machine());
  auto const net = net_of(o);
  auto model = nn::place<double>(net, m, plan, 3);
  nn::replay_routes(model, book);
  nn::record_routes(model);
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 0.5, .overlap = overlap});
  CHECK(!step::check(trainer.program()).found());
  int const behind = rows_in_background(trainer.program());
  if (overlap == train::overlap::none) CHECK(behind == 0);
  in_background += behind;
  training made;
  for (unsigned s = 0; s < steps; ++s) {
    auto const r = trainer.step(data_for<std::int32_t>(net, batch, 97, 7, s, 5));
    for (double const x :
         {r.loss, r.gradient_norm, r.balance_loss, r.z_loss, r.fullest_rank, r.dropped_share})
      made.numbers.push_back(x);
  }
  for (auto const& [at, given] : nn::recorded_routes(model))
    made.routes.push_back(given.routes->expert);
  made.parameters = values_of(model);
  return made;
}

/// Returns routes for all passes of `steps` steps. In pass b, the k-th expert of token t is
/// choose(b, t, k).
template <class Choose>
nn::route_book book_of(nn::moe_options const& o, unsigned steps, Choose const& choose) {
  auto const problem = search::any_length(nn::describe<double>(net_of(o), batch));
  nn::route_book book;
  for (int b = 0; b < batch.micro_batches * static_cast<int>(steps); ++b)
    for (int i = 0; i < problem.size(); ++i) {
      if (!problem.spec(i).y.is_routed() || problem.spec(i).x.is_routed()) continue;
      ashlar::routing r{tokens, o.experts, o.chosen, {}};
      for (int t = 0; t < tokens; ++t)
        for (int k = 0; k < o.chosen; ++k)
          r.expert.push_back(static_cast<std::int32_t>(choose(b, t, k)));
      book[{b, i}] = nn::given_routes(r);
    }
  return book;
}

void check_turns(nn::moe_options const& o, nn::route_book const& book, unsigned steps,
                 int random_plans) {
  auto const problem = search::any_length(nn::describe<double>(net_of(o), batch));
  bool const all = wants_all("ASHLAR_TURNS");
  if (all) random_plans += 2;
  int in_background = 0;
  for (auto const& t : world_topologies()) {
    if (t.axes() > 2) continue;
    for (auto const on : {transport::messages, transport::shared_memory}) {
      if (!all && t.axes() == 2 && (on == transport::messages || steps == 1)) continue;
      auto const m = mesh_on(on, t, even_machine);
      std::vector<search::plan> plans{search::expert_parallel(problem, t, even_machine)};
      plan_source const source(problem, m);
      std::mt19937 random(on == transport::messages ? 6 : 7);
      for (int i = 0; i < random_plans; ++i) plans.push_back(source.random(random));
      for (auto const& plan : plans) {
        CAPTURE(describe(problem, plan));
        CAPTURE(to_string(on));
        auto const run = [&](int k, train::overlap overlap) {
          return train_with(o, m, problem, plan, k, overlap, steps, book, in_background);
        };
        auto const expected = run(1, train::overlap::none);
        CHECK(run(1, train::overlap::as_planned) == expected);
        for (int const k : {2, 3}) {
          CAPTURE(k);
          CHECK(run(k, train::overlap::as_planned) == expected);
        }
        if (!all) steps = std::min(steps, 2u);  // only the first plan trains for many steps
      }
    }
  }
  if (world_size() > 1) CHECK(in_background > 0);
}

/// Returns the index of the `dispatch` element whose routes decide which rows exist at `element` or
/// at the boundary before it.
int router_of(search::problem const& net, int element) {
  while (!net.spec(element).y.is_routed() || net.spec(element).x.is_routed()) --element;
  return element;
}

/// Checks the bytes of a step for each kind of collective. The recorded bytes must equal the bytes
/// that follow from the routes. With messages, the calls of MPI must move the recorded bytes, and
/// with shared memory none.
template <class Model>
void check_bytes(ashlar::mesh const& m, transport on, Model& model, step::program const& p,
                 train::batch_data<std::int32_t> const& data) {
  auto walker = model.make_executor(p);
  model.clear_gradients();
  nn::record_routes(model);
  double loss = 0;
  traffic_check const traffic(m, on);
  walker.run(0, walker.first_update(), model.input_of(data.inputs, data.targets, 0, &loss));
  auto const& book = nn::recorded_routes(model);
  step::collective_totals expected, found;
  auto const add = [](step::collective_totals& to, ashlar::collective_record const& r) {
    to.of[static_cast<int>(r.kind)].bytes += double(r.received_bytes);
  };
  // Only the actions before the first update ran here, so the moves after it are left out. These
  // bring updated parameters to the placements at which they are stored.
  for (auto const& a :
       std::span(p.actions).first(static_cast<std::size_t>(walker.first_update()))) {
    if (a.kind != step::action_kind::begin_move) continue;
    auto const& move = p.move_of(a);
    auto const& path = p.path_of(move);
    bool const rows = path.extents.is_routed();
    auto const records =
        rows
            ? counted(m, path,
                      *book.at({move.micro_batch, router_of(model.problem(), move.element)}).routes)
            : predicted(m, path);
    for (auto const& r : records) add(expected, r);
  }
  for (auto const& r : traffic.log().records()) add(found, r);
  for (std::size_t k = 0; k < std::size(found.of); ++k)
    CHECK(found.of[k].bytes == expected.of[k].bytes);
  auto const wrong = traffic.difference(traffic.log().records(), false);
  CHECK_MESSAGE(wrong == "", wrong);
}

}  // namespace

TEST_CASE("experts train with the same bits in turns, with rows in the background") {
  check_turns({.experts = 4, .chosen = 2, .hidden = 5, .balance = 0.1, .z_loss = 0.1}, {}, 20, 1);
}

TEST_CASE("so they do with a capacity, and with fewer experts than ranks") {
  check_turns({.experts = 3, .chosen = 1, .hidden = 5, .balance = 0.1, .capacity = 0.75}, {},
              wants_all("ASHLAR_TURNS") ? 20 : 2, 1);
}

TEST_CASE("so they do with one hot expert, ranks without tokens and experts without any") {
  nn::moe_options const o{.experts = 5, .chosen = 1, .hidden = 5, .balance = 0.1};
  auto const check = [&](auto const& choose) {
    unsigned const steps = wants_all("ASHLAR_TURNS") ? 20 : 1;
    check_turns(o, book_of(o, steps, choose), steps, 0);
  };
  check([](int, int, int) { return 4; });
  check([](int b, int t, int) { return t < 3 ? (b + t) % 2 : -1; });
  check([](int b, int, int) { return b % 2 ? 1 : -1; });
}

TEST_CASE("the bytes of a step in turns are those of the routes") {
  nn::moe_options const o{.experts = 5, .chosen = 2, .hidden = 5};
  auto const net = net_of(o);
  auto const problem = search::any_length(nn::describe<double>(net, batch));
  auto const data = random_batch<std::int32_t>(batch, 97, 7, 1);
  for (auto const& t : world_topologies())
    for (auto const on : {transport::messages, transport::shared_memory}) {
      if (t.axes() > 1 && on == transport::shared_memory) continue;
      auto const m = mesh_on(on, t, even_machine);
      plan_source const source(problem, m);
      std::mt19937 random(3);
      for (auto plan : {search::expert_parallel(problem, t, even_machine), source.random(random)})
        for (int const k : {1, 3}) {
          CAPTURE(describe(problem, plan));
          auto own = problem;
          own.interleaved = k;
          predict(plan, own, even_machine);
          auto model = nn::place<double>(net, m, plan, 3);
          train::trainer const trainer(model, train::sgd{.lr = 0.1});
          check_bytes(m, on, model, k == 1 ? model.program() : trainer.program(), data);
        }
    }
}

}  // namespace ashlar_test
