// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4
// thorough: ASHLAR_EXPERTS=all 1 2 3 4 6 8

// Tests the training of a small GPT with mixtures of experts, under data, expert, tensor and other
// plans. Losses and balance losses must equal those of one process, and every token of every step
// must go to the same experts. Programs with overlap must give the same bits as serial programs.
// Pipelines with experts in their stages must equal a single stage. The environment variable
// ASHLAR_EXPERTS=all runs 30 random plans on every mesh, for 20 steps. By default fewer plans run,
// for 12 steps.

#include <map>

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/wants_all.hpp>

#include <ashlar/nn/moe.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

/// The experts of all tokens, by the number of the pass and the number of the dispatch layer.
using route_book = std::map<std::pair<std::int64_t, int>, std::vector<std::int32_t>>;
route_book book;

/// A dispatch layer that records its routes in `book`.
class noting_dispatch : public nn::dispatch {
 public:
  noting_dispatch(std::int64_t features, nn::moe_options const& o, int number)
      : nn::dispatch(features, o), number_(number) {}
  template <int Part, class Call>
  auto forward(Call const& c) const {
    auto made = nn::dispatch::forward<Part>(c);
    if constexpr (Part == 2)
      book[{c.pass().number, number_}] = ashlar::rows_of(made.y).routes->expert;
    return made;
  }

 private:
  int number_;
};

auto noting_block(int number, nn::moe_options const& o) {
  return nn::chain(nn::residual(nn::chain(nn::layer_norm(8), nn::self_attention(8, 2))),
                   nn::residual(nn::chain(nn::layer_norm(8), noting_dispatch(8, o, number),
                                          nn::experts(8, o), nn::combine())));
}

// There are so many token ids that no two sequences of a micro-batch begin with the same token.
// Equal first tokens would have equal gates, and rounding would decide which one the capacity
// drops.
constexpr int vocabulary = 997;

auto net_of(nn::moe_options const& o) {
  return nn::chain(nn::embedding(vocabulary, 8), noting_block(0, o), noting_block(1, o),
                   nn::layer_norm(8), nn::linear(8, 11));
}

constexpr nn::token_batch expert_batch{4, 6, 2};

bool runs_all() { return wants_all("ASHLAR_EXPERTS"); }
unsigned const steps = runs_all() ? 20 : 12;

struct training {
  std::vector<double> losses, balance_losses;
  route_book routes;
};

template <class T, class Plan>
training train_with(nn::moe_options const& o, ashlar::mesh const& m, Plan const& plan,
                    train::overlap how = train::overlap::as_planned) {
  auto const net = net_of(o);
  auto model = nn::place<T>(net, m, plan, 7);
  training done;
  book.clear();
  auto const run = [&](auto trainer) {
    for (unsigned s = 0; s < steps; ++s) {
      auto const report = trainer.step(
          data_for<std::int32_t>(net, expert_batch, vocabulary, 11, s, 5));
      done.losses.push_back(report.loss);
      done.balance_losses.push_back(report.balance_loss);
    }
  };
  // Adam makes large steps even for small gradients, so rounding errors of sums would show in
  // float. Therefore only double is trained with Adam.
  if constexpr (std::is_same_v<T, double>)
    run(train::trainer(model, train::adam_w{.lr = 0.01f}, {.clip = 0.8, .overlap = how}));
  else run(train::trainer(model, train::sgd{.lr = 0.2f, .momentum = 0.5f}, {.overlap = how}));
  done.routes = book;
  return done;
}

/// Returns how many choices of an expert by a token differ between two trainings. Returns at least
/// a million if the trainings do not have the same passes.
int turned(route_book const& a, route_book const& b) {
  int count = a.size() == b.size() ? 0 : 1'000'000;
  for (auto const& [at, routes] : a) {
    auto const other = b.find(at);
    if (other == b.end()) return 1'000'000;
    for (std::size_t i = 0; i < routes.size(); ++i) count += routes[i] != other->second[i];
  }
  return count;
}

/// Returns a plan for a mesh with several axes. The first axis splits the experts, and in layers
/// without experts the batch. The last axis splits hidden features and heads, unless `zero` is
/// true. The other axes split the batch. If `zero` is true, the storage of parameters is split
/// along all axes.
search::plan expert_and_tensor(search::problem const& problem, ashlar::mesh const& m, bool zero) {
  auto const& t = m.topology();
  namespace rows = search::detail;
  return rows::constrained(
      problem, t, m.machine(), zero, [&](int a, auto const& r, auto const& spec) {
        bool const has_experts = spec.x.is_routed() && !spec.parameters.empty();
        if (a + 1 == t.axes() && !zero) return rows::is_tensor_row(r, spec);
        if (has_experts && a == 0) return r.x.is_split_of(spec.x.rank() - 2);
        return rows::is_data_row(r);
      });
}

template <class T>
void check_training(nn::moe_options const& o, int plans_of_each_mesh, double tolerance) {
  auto const problem = search::any_length(nn::describe<T>(net_of(o), expert_batch));
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto const right = train_with<T>(o, alone, plan_source(problem, alone).whole());
  CHECK(right.losses.back() < right.losses.front());
  for (auto const& m : all_meshes()) {
    plan_source const source(problem, m);
    auto const& t = m.topology();
    std::vector<search::plan> plans{
        search::data_parallel(problem, t, m.machine()), search::zero_3(problem, t, m.machine()),
        search::expert_parallel(problem, t, m.machine()),
        search::tensor_parallel(problem, t, m.machine()), search::optimal(problem, t, m.machine())};
    if (t.axes() > 1 && runs_all()) {
      plans.push_back(expert_and_tensor(problem, m, false));
      plans.push_back(expert_and_tensor(problem, m, true));
    }
    std::mt19937 random(5);
    for (int i = 0; i < (runs_all() ? 30 : plans_of_each_mesh); ++i)
      plans.push_back(source.random(random));
    for (auto const& plan : plans) {
      CAPTURE(describe(problem, plan));
      auto const serial = train_with<T>(o, m, plan, train::overlap::none);
      CHECK(turned(serial.routes, right.routes) == 0);
      for (std::size_t s = 0; s < steps; ++s) {
        CHECK(near(serial.losses[s], right.losses[s], tolerance));
        // The tolerance is relative to the total loss, of which the balance loss is a small part.
        CHECK(std::abs(serial.balance_losses[s] - right.balance_losses[s]) <=
              tolerance * right.losses[s]);
      }
      auto const overlapped = train_with<T>(o, m, plan);
      CHECK(overlapped.losses == serial.losses);
      CHECK(overlapped.balance_losses == serial.balance_losses);
      CHECK(turned(overlapped.routes, serial.routes) == 0);
    }
  }
}

/// Compares two stages that both have experts with a single stage. The single stage has the same
/// placements and runs on a mesh of as many ranks as one of the two stages.
void check_stages(nn::moe_options const& o, int plans) {
  int const q = world_size() / 2;
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", 2}, {"gpu", q}});
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() / q, world_rank() % q, &own);
  {
    ashlar::mesh const stage(own, {{"stage", 1}, {"gpu", q}});
    auto const problem = search::any_length(nn::describe<double>(net_of(o), expert_batch));
    std::vector<int> after_combine;  // the ends of the blocks, at which the net may be cut
    for (int i = 0; i + 1 < problem.size(); ++i)
      if (problem.spec(i).x.is_routed() && !problem.spec(i).y.is_routed())
        after_combine.push_back(i + 2);  // after the end of the block's residual
    REQUIRE(after_combine.size() == 2);
    plan_source const source(problem, stage);
    std::mt19937 random(7);
    for (int i = 0; i < plans; ++i) {
      auto const chosen = i == 0
                              ? search::expert_parallel(problem, stage.topology(), stage.machine())
                              : source.random(random);
      CAPTURE(describe(problem, chosen));
      auto const one = train_with<double>(o, stage, chosen);
      std::vector<int> const limits{0, after_combine.front(), problem.size()};
      auto const two = train_with<double>(o, whole,
                                          search::price_pipeline(problem, chosen, limits, {0, 0}, 0,
                                                                 expert_batch.micro_batches,
                                                                 whole.machine()));
      for (std::size_t s = 0; s < steps; ++s) {
        CHECK(near(two.losses[s], one.losses[s], 1e-9));
        CHECK(near(two.balance_losses[s], one.balance_losses[s], 1e-9));
      }
      if (i == 0) CHECK(two.losses == one.losses);
      for (auto const& [at, routes] : two.routes)  // `two` has the routes of this rank's stage
        CHECK(routes == one.routes.at(at));
      CHECK(two.routes.size() * 2 == one.routes.size());
    }
  }
  MPI_Comm_free(&own);
}

}  // namespace

TEST_CASE("a pipeline with experts in its stages trains as one stage") {
  if (world_size() % 2 != 0) return;
  check_stages({.experts = 4, .chosen = 2, .hidden = 12, .balance = 0.1}, runs_all() ? 12 : 2);
}

TEST_CASE("a GPT with experts trains under all plans as in one process") {
  check_training<double>({.experts = 4, .chosen = 2, .hidden = 12, .balance = 0.1}, 6, 1e-9);
}

TEST_CASE("so it does in single precision, with one of five experts") {
  check_training<float>({.experts = 5, .chosen = 1, .hidden = 16, .balance = 0.1}, 4, 1e-5);
}

TEST_CASE("so it does with a capacity, which drops the same tokens on every mesh") {
  check_training<double>(
      {.experts = 4, .chosen = 2, .hidden = 12, .balance = 0.1, .capacity = 0.75}, 4, 1e-9);
}

}  // namespace ashlar_test
