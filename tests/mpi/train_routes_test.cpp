// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4
// thorough: ASHLAR_EXPERTS=all 1 2 3 4 6 8

// Tests what a trainer reports about mixtures of experts, and training with given routes. Under all
// plans, the losses of routers and the dropped routes must be those of one process. Gradients at
// given routes must be those of the loss of the net plus the losses of the router. Routes that were
// recorded under one plan must be usable under another. If one rank has another batch, or if logits
// are not finite, every rank must get the same error. For logits, this is also tested in a
// pipeline. The environment variable ASHLAR_EXPERTS=all runs more random plans.

#include <limits>

#include <doctest/doctest.h>
#include <support/local_part.hpp>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/slope_errors.hpp>
#include <support/wants_all.hpp>

#include <ashlar/nn/moe.hpp>
#include <ashlar/nn/route_book.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

constexpr nn::token_batch routed_batch{4, 3, 2};
constexpr int passes = 4;  // two steps of two micro-batches
constexpr int ids = 997;   // so many token ids that equal tokens, and so equal gates, are rare

auto routed_net(nn::moe_options const& o) {
  return nn::chain(nn::embedding(ids, 4, nn::no_positions), nn::moe(4, o), nn::linear(4, 5));
}
constexpr int router = 1;  // the number of the element `dispatch` in this net

auto data_of_step(unsigned step) {
  return random_batch<std::int32_t>(routed_batch, ids, 5, step, 5);
}

/// Returns the reports of two steps. Tokens take the routes of `book`, or the routes that the
/// router chooses if `book` is empty.
std::vector<train::step_report> reports_of(nn::moe_options const& o, ashlar::mesh const& m,
                                           search::plan const& plan, nn::route_book book = {},
                                           train::overlap how = train::overlap::as_planned,
                                           unsigned seed = 7) {
  auto model = nn::place<double>(routed_net(o), m, plan, seed);
  nn::replay_routes(model, std::move(book));
  train::trainer t(model, train::sgd{.lr = 0.5}, {.overlap = how});
  return {t.step(data_of_step(0)), t.step(data_of_step(1))};
}

std::vector<search::plan> plans_for(search::problem const& problem, ashlar::mesh const& m) {
  auto const& t = m.topology();
  std::vector<search::plan> plans{search::data_parallel(problem, t, m.machine()),
                                  search::zero_3(problem, t, m.machine()),
                                  search::expert_parallel(problem, t, m.machine()),
                                  search::tensor_parallel(problem, t, m.machine())};
  plan_source const source(problem, m);
  std::mt19937 random(3);
  for (int i = 0; i < (wants_all("ASHLAR_EXPERTS") ? 20 : 1); ++i)
    plans.push_back(source.random(random));
  return plans;
}

void check_reports(nn::moe_options const& o, nn::route_book const& book = {}) {
  auto const problem = search::any_length(nn::describe<double>(routed_net(o), routed_batch));
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto const right = reports_of(o, alone, plan_source(problem, alone).whole(), book);
  for (auto const& r : right) {
    CHECK(r.balance_loss > 0);
    CHECK((r.z_loss > 0) == (o.z_loss > 0));
    CHECK(r.total_loss() == r.loss + r.balance_loss + r.z_loss);
    CHECK(r.fullest_rank == 1);
    if (book.empty()) CHECK((r.dropped_share > 0) == (o.capacity < nn::dropless));
  }
  for (auto const& m : all_meshes())
    for (auto const& plan : plans_for(problem, m)) {
      CAPTURE(describe(problem, plan));
      auto const got = reports_of(o, m, plan, book);
      for (std::size_t s = 0; s < got.size(); ++s) {
        CHECK(near(got[s].loss, right[s].loss, 1e-11));
        CHECK(near(got[s].balance_loss, right[s].balance_loss, 1e-11));
        CHECK(near(got[s].z_loss, right[s].z_loss, 1e-11));
        CHECK(got[s].dropped_share == right[s].dropped_share);
        CHECK(got[s].fullest_rank >= 1);
        CHECK(got[s].fullest_rank <= world_size());
      }
      if (!book.empty()) continue;
      auto const serial = reports_of(o, m, plan, book, train::overlap::none);
      CHECK(serial[1].loss == got[1].loss);
      CHECK(serial[1].balance_loss == got[1].balance_loss);
      CHECK(serial[1].z_loss == got[1].z_loss);
    }
}

/// Returns routes for all passes. In pass b, the k-th expert of token t is choose(b, t, k).
template <class Choose>
nn::route_book book_of(int experts, int chosen, Choose const& choose) {
  nn::route_book book;
  for (int b = 0; b < passes; ++b) {
    ashlar::routing r{12, experts, chosen, {}};
    for (int t = 0; t < 12; ++t)
      for (int k = 0; k < chosen; ++k)
        r.expert.push_back(static_cast<std::int32_t>(choose(b, t, k)));
    book[{b, router}] = nn::given_routes(r);
  }
  return book;
}

}  // namespace

TEST_CASE("the report has the losses of routers, and does not depend on mesh or plan") {
  check_reports({.experts = 4, .chosen = 2, .hidden = 3, .balance = 0.3, .z_loss = 0.2});
  check_reports({.experts = 5, .chosen = 1, .hidden = 3, .balance = 0.1});
  check_reports({.experts = 4, .chosen = 2, .hidden = 3, .balance = 0.1, .capacity = 0.6});
}

TEST_CASE("training at given routes does not depend on mesh or plan") {
  check_reports({.experts = 4, .chosen = 2, .hidden = 3, .balance = 0.3, .z_loss = 0.2},
                book_of(4, 2, [](int b, int t, int k) { return k == 0 ? (b + t) % 3 - 1 : 3; }));
}

TEST_CASE("loads that are hard for some rank: right under all plans, and no hang") {
  // With five experts on four ranks, or three experts on eight ranks, loads are uneven, and some
  // ranks may hold no expert.
  nn::moe_options const five{.experts = 5, .chosen = 1, .hidden = 3, .balance = 0.1};
  nn::moe_options const three{.experts = 3, .chosen = 3, .hidden = 3, .balance = 0.1};
  check_reports(five, book_of(5, 1, [](int b, int t, int) { return (b + t) % 5; }));  // balanced
  // All tokens go to one expert.
  check_reports(five, book_of(5, 1, [](int, int, int) { return 4; }));
  // Tokens go to experts 0 and 1.
  check_reports(five, book_of(5, 1, [](int, int t, int) { return t % 2; }));
  check_reports(five,  // only the tokens of the first sequence have experts
                book_of(5, 1, [](int b, int t, int) { return t < 3 ? (b + t) % 5 : -1; }));
  check_reports(three, book_of(3, 3, [](int, int, int k) { return k; }));  // every token to all
  // Every choice of every token is dropped, so no expert gets a token.
  auto const none = book_of(5, 1, [](int, int, int) { return -1; });
  auto const problem = search::any_length(nn::describe<double>(routed_net(five), routed_batch));
  for (auto const& m : all_meshes())
    for (auto const& plan : plans_for(problem, m)) {
      auto const got = reports_of(five, m, plan, none);
      CHECK(std::isfinite(got[1].loss));
      CHECK(got[1].dropped_share == 1);
      CHECK(got[1].fullest_rank == 0);
    }
}

TEST_CASE("the fullest rank of one hot expert has all rows") {
  nn::moe_options const o{.experts = 4, .chosen = 1, .hidden = 3, .balance = 0.1};
  auto const problem = search::any_length(nn::describe<double>(routed_net(o), routed_batch));
  auto const hot = book_of(4, 1, [](int, int, int) { return 2; });
  auto const even = book_of(4, 1, [](int, int t, int) { return t % 4; });
  for (auto const& m : all_meshes()) {
    auto const experts = search::expert_parallel(problem, m.topology(), m.machine());
    auto const tokens = search::data_parallel(problem, m.topology(), m.machine());
    CHECK(reports_of(o, m, experts, hot)[1].fullest_rank == world_size());
    CHECK(reports_of(o, m, experts, even)[1].fullest_rank == 1);
    CHECK(reports_of(o, m, tokens, hot)[1].fullest_rank == 1);
  }
}

TEST_CASE("rows by rank are those of each rank's box") {
  auto const routes = nn::given_routes(
      {12, 5, 2, {0, 1, 0, 4, 1, 2, -1, 3, 2, 4, 0, 2, 0, 3, 3, 4, -1, -1, 1, 4, 0, 1, 2, 3}});
  ashlar::shape extents{3, 4, 5, 2};
  extents.chosen = 2;
  for (auto const& t : {ashlar::topology{{"a", 2}, {"b", 3}}, ashlar::topology{{"a", 7}}})
    for (auto const& p : all_placements(4, t.axes(), {})) {
      auto const rows = ashlar::rows_by_rank(*routes.routes, extents, t, p);
      for (int r = 0; r < t.ranks(); ++r)
        CHECK(rows[static_cast<std::size_t>(r)] ==
              ashlar::count_rows(*routes.routes, extents,
                                 ashlar::local_box(extents, t, p, t.coordinates_of(r))));
    }
}

TEST_CASE("gradients at fixed routes are those of the loss with the losses of the router") {
  auto const net = nn::chain(
      nn::embedding(7, 3, nn::no_positions),
      nn::moe(
          3,
          {.experts = 4, .chosen = 2, .hidden = 3, .balance = 0.3, .z_loss = 0.2, .capacity = 0.8}),
      nn::linear(3, 5));
  nn::token_batch const batch{3, 5, 2};
  auto const problem = search::any_length(nn::describe<double>(net, batch));
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto model = nn::place<double>(net, alone, plan_source(problem, alone).whole(), 7);
  auto const data = random_batch<std::int32_t>(batch, 7, 5, 3, 5);
  auto values = values_of(model);
  disturb(values, 5);
  set_values(model, values);
  nn::record_routes(model);
  accumulate_step(model, data, true);
  CHECK(nn::recorded_routes(model).size() == 2);
  nn::replay_routes(model, nn::recorded_routes(model));
  // Each call begins with clear_gradients(), which also forgets the losses of the call before.
  auto const total = [&] {
    double const loss = accumulate_step(model, data, true);
    return loss + model.mixtures().sums().balance_loss + model.mixtures().sums().z_loss;
  };
  total();
  model.synchronize();
  auto const gradients = gradients_of(model);
  CHECK(worst_slope_error(model, values, gradients, total) < 1e-8);
}

TEST_CASE("recorded routes are those that another plan takes, and can be replayed there") {
  nn::moe_options const o{.experts = 4, .chosen = 2, .hidden = 3, .balance = 0.3, .capacity = 0.8};
  auto const problem = search::any_length(nn::describe<double>(routed_net(o), routed_batch));
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto one = nn::place<double>(routed_net(o), alone, plan_source(problem, alone).whole(), 7);
  nn::record_routes(one);
  train::trainer t(one, train::sgd{.lr = 0.5});
  std::vector<double> losses{t.step(data_of_step(0)).loss, t.step(data_of_step(1)).loss};
  auto const& book = nn::recorded_routes(one);
  REQUIRE(book.size() == passes);
  CHECK(book.begin()->first == nn::mixture_pass{0, router});
  for (auto const& m : all_meshes()) {
    auto const plan = search::expert_parallel(problem, m.topology(), m.machine());
    auto other = nn::place<double>(routed_net(o), m, plan, 7);
    nn::record_routes(other);
    train::trainer u(other, train::sgd{.lr = 0.5});
    u.step(data_of_step(0));
    u.step(data_of_step(1));
    for (auto const& [at, routes] : nn::recorded_routes(other)) {
      CHECK(routes.routes->expert == book.at(at).routes->expert);
      CHECK(routes.chosen_by == book.at(at).chosen_by);
    }
    auto const again = reports_of(o, m, plan, book);
    for (std::size_t s = 0; s < 2; ++s) CHECK(near(again[s].loss, losses[s], 1e-11));
    // With the seed 8, the router would choose other experts, but the routes of the book are used.
    for (std::size_t s = 0; s < 2; ++s) {
      auto const as = train::overlap::as_planned;
      auto const given = reports_of(o, m, plan, book, as, 8)[s];
      CHECK(near(given.loss,
                 reports_of(o, alone, plan_source(problem, alone).whole(), book, as, 8)[s].loss,
                 1e-11));
      CHECK(!near(given.balance_loss, reports_of(o, m, plan, {}, as, 8)[s].balance_loss, 1e-6));
    }
  }
}

TEST_CASE("routes that do not fit a net") {
  auto const net = routed_net({.experts = 4, .chosen = 2, .hidden = 3});
  auto const problem = search::any_length(nn::describe<double>(net, routed_batch));
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto const model = nn::place<double>(net, alone, plan_source(problem, alone).whole(), 7);
  auto const any = [](int, int, int k) { return k; };
  CHECK(message_of([&] { nn::replay_routes(model, book_of(4, 1, any)); }) ==
        "replay_routes: element 1 of the net does not route 12 tokens to 1 of 4 experts. Give "
        "routes that were recorded with the same net and batch.");
  for (int const element : {-1, 0, 2, 3, 99}) {
    nn::route_book book{{{0, element}, book_of(4, 2, any).begin()->second}};
    CHECK(has(message_of([&] { nn::replay_routes(model, book); }),
              "replay_routes: element " + std::to_string(element) + " of the net does not route"));
  }
  auto by_hand = book_of(4, 2, any);
  for (auto& [at, routes] : by_hand) routes.chosen_by.clear();
  CHECK(has(message_of([&] { nn::replay_routes(model, by_hand); }),
            "do not say how many tokens chose each expert. Make them with nn::given_routes."));
  CHECK(has(message_of([&] { book_of(4, 2, [](int, int, int) { return 4; }); }),
            "routes: token 0 goes to expert 4, but there are 4 experts."));
}

TEST_CASE("another batch on one rank is an error on every rank, before rows move") {
  if (world_size() == 1) return;
  nn::moe_options const o{.experts = 4, .chosen = 2, .hidden = 3};
  auto const problem = search::any_length(nn::describe<double>(routed_net(o), routed_batch));
  int const last = world_size() - 1;
  auto const good = data_of_step(0);
  auto shorter = good, other = good;
  if (world_rank() == last) {
    shorter.inputs.pop_back();
    for (auto& id : other.inputs) id = (id + 1) % ids;
  }
  auto const other_batch = "trainer: at step 1 rank " + std::to_string(last) +
                           " has another batch than rank 0.";
  for (auto const& m : all_meshes()) {
    auto plans = plans_for(problem, m);
    // Under this plan, each rank makes all routes by itself, from its own batch, and rows move
    // between the ranks.
    auto apart = plan_source(problem, m).whole();
    apart.choices[router + 1] = search::expert_parallel(problem, m.topology(),
                                                        m.machine())[router + 1];
    plans.push_back(apart);
    plans.push_back(plan_source(problem, m).whole());
    for (auto const& plan : plans) {
      CAPTURE(describe(problem, plan));
      auto model = nn::place<double>(routed_net(o), m, plan, 7);
      train::trainer t(model, train::sgd{.lr = 0.5});
      t.step(good);
      auto const before = values_of(model);
      CHECK(message_of([&] { t.step(shorter); }) ==
            "trainer: on rank " + std::to_string(last) +
                ": a step takes 24 inputs and 24 targets, but was given 23 and 24.");
      CHECK(has(message_of([&] { t.step(other); }), other_batch));
      CHECK(has(message_of([&] {
                  if (m.rank() == last) t.step(local_part(t, good));
                  else t.step(good);
                }),
                other_batch));
      auto wrong_part = local_part(t, good);
      if (m.rank() == last) wrong_part.inputs.push_back(0);
      CHECK(has(message_of([&] { t.step(wrong_part); }), ": this rank's part of a step is "));
      CHECK(values_of(model) == before);
      t.step(good);
    }
    // Under the last plan, all ranks read the whole batch.
    auto model = nn::place<double>(routed_net(o), m, plans.back(), 7);
    train::trainer t(model, train::sgd{.lr = 0.5});
    CHECK(message_of([&] { t.step(local_part(t, other)); }) ==
          "trainer: at step 0 ranks 0 and " + std::to_string(last) +
              " passed different inputs, although both read the same part of the batch.");
  }
}

TEST_CASE("logits that are not finite are one error on every rank, also in a pipeline") {
  nn::moe_options const o{.experts = 4, .chosen = 2, .hidden = 3, .capacity = 0.8};
  auto const net = routed_net(o);
  auto const problem = search::any_length(nn::describe<double>(net, routed_batch));
  auto data = data_of_step(1);
  for (auto& id : data.inputs) id %= ids - 1;
  data.inputs[12 + 5] = data.inputs[12 + 7] = ids - 1;  // two tokens of micro-batch 1
  auto const check = [&](auto model) {
    train::trainer t(model, train::adam_w{});
    t.step(data);
    model.for_each_parameter([&](auto const& p) {
      if (p.path() != "0.table") return;
      auto const box = p.value().local_box();
      auto const shard = p.template shards<double>();
      for (std::int64_t i = 0; i < shard.elements; ++i)
        if (box[0].begin + i / std::max<std::int64_t>(box[1].size, 1) == ids - 1)
          shard.value[i] = std::numeric_limits<double>::quiet_NaN();
    });
    CHECK(message_of([&] { t.step(data); }) ==
          "trainer: at step 1 the router's logits of token 5 of micro-batch 1 are not finite in "
          "element 1 of the net, so it has no experts. Parameters are as before this step. Lower "
          "the learning rate, or clip gradients.");
  };
  for (auto const& m : all_meshes()) {
    check(nn::place<double>(net, m, search::data_parallel(problem, m.topology(), m.machine()), 7));
    check(
        nn::place<double>(net, m, search::expert_parallel(problem, m.topology(), m.machine()), 7));
  }
  if (world_size() % 2 != 0) return;
  int const q = world_size() / 2;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"stage", 2}, {"gpu", q}});
  auto const whole = plan_source(problem, {{"stage", 1}, {"gpu", q}}, m.machine()).whole();
  for (int const cut : {1, 4})
    check(nn::place<double>(net, m,
                            search::price_pipeline(problem, whole, {0, cut, problem.size()}, {0, 0},
                                                   0, routed_batch.micro_batches, m.machine()),
                            7));
}

}  // namespace ashlar_test
