// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests the training of a small GPT with mixtures of experts: under data, expert, tensor and other
// plans, losses must be those of one process, and every token of every step must go to the same
// experts. Programs in another order must give the same bits.

#include <map>

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/moe.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

/// The experts of all tokens, by number of the pass and layer.
using route_book = std::map<std::pair<std::int64_t, int>, std::vector<std::int32_t>>;
route_book book;

/// A dispatch that notes its routes.
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

// So many ids that no two sequences of a micro-batch begin alike. Their first tokens would have equal
// gates, of which rounding would drop one or the other.
constexpr int vocabulary = 997;

auto net_of(nn::moe_options const& o) {
  return nn::chain(nn::embedding(vocabulary, 8), noting_block(0, o), noting_block(1, o),
                   nn::layer_norm(8), nn::linear(8, 11));
}

constexpr nn::token_batch expert_batch{4, 6, 2};
constexpr unsigned steps = 12;

struct training {
  std::vector<double> losses;
  route_book routes;
};

template <class T>
training train_with(nn::moe_options const& o, ashlar::mesh const& m, search::plan const& plan,
                    train::overlap how = train::overlap::as_planned) {
  auto const net = net_of(o);
  auto model = nn::place<T>(net, m, plan, 7);
  training done;
  book.clear();
  auto const run = [&](auto trainer) {
    for (unsigned s = 0; s < steps; ++s)
      done.losses.push_back(
          trainer.step(data_for<std::int32_t>(net, expert_batch, vocabulary, 11, s, 5)).loss);
  };
  // Adam makes large steps of small gradients, so that in float the order of sums shows.
  if constexpr (std::is_same_v<T, double>)
    run(train::trainer(model, train::adam_w{.lr = 0.01f}, {.clip = 0.8, .overlap = how}));
  else run(train::trainer(model, train::sgd{.lr = 0.2f, .momentum = 0.5f}, {.overlap = how}));
  done.routes = book;
  return done;
}

/// Returns how many routes of a training differ from those of another one.
int turned(route_book const& a, route_book const& b) {
  int count = a.size() == b.size() ? 0 : 1'000'000;
  for (auto const& [at, routes] : a) {
    auto const other = b.find(at);
    if (other == b.end()) return 1'000'000;
    for (std::size_t i = 0; i < routes.size(); ++i) count += routes[i] != other->second[i];
  }
  return count;
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
    std::mt19937 random(5);
    for (int i = 0; i < plans_of_each_mesh; ++i) plans.push_back(source.random(random));
    for (auto const& plan : plans) {
      CAPTURE(describe(problem, plan));
      auto const serial = train_with<T>(o, m, plan, train::overlap::none);
      CHECK(turned(serial.routes, right.routes) == 0);
      for (std::size_t s = 0; s < steps; ++s)
        CHECK(near(serial.losses[s], right.losses[s], tolerance));
      auto const overlapped = train_with<T>(o, m, plan);
      CHECK(overlapped.losses == serial.losses);
      CHECK(turned(overlapped.routes, serial.routes) == 0);
    }
  }
}

}  // namespace

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
