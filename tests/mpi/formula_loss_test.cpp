// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests losses that are written as formulas. nn::verify must accept them. The squared error as a
// formula must have the signature rows and the results of nn::mean_squared_error, which is written
// by hand. Nets that end in a loss by formula must have the same results under every plan.

#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/formula_loss.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/verify.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

auto const squared = nn::formula_loss(
    "squared", [](auto y, auto target) { return (y - target) * (y - target); });
auto const huber = nn::formula_loss(
    "huber", [](auto y, auto target) { return sqrt(1 + pow(y - target, 2)) - 1; });
/// The cross-entropy with probabilities as targets. It has one value for each row.
auto const soft_cross_entropy = nn::formula_loss(
    "soft", [](auto y, auto target) { return -sum(target * log(softmax(y)), -1); });

template <class Loss>
auto net_with(Loss const& loss) {
  return nn::chain(nn::linear(3, 5), nn::gelu(), nn::linear(5, 2), loss);
}
constexpr nn::feature_batch samples{7, 3, 2};

/// Returns the losses of some steps under `plan`.
template <class Net, class Plan>
std::vector<double> losses_of(Net const& net, ashlar::mesh const& m, Plan const& plan) {
  auto model = nn::place<double>(net, m, plan, 3);
  ashlar::train::trainer trainer(model, ashlar::train::sgd{.lr = 0.05, .momentum = 0.5});
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  ashlar::train::batch_data<double, double> data;
  for (int i = 0; i < 42; ++i) data.inputs.push_back(normal(random));
  for (int i = 0; i < 28; ++i) data.targets.push_back(0.3 + 0.1 * normal(random));
  std::vector<double> all;
  for (int s = 0; s < 8; ++s) all.push_back(trainer.step(data).loss);
  return all;
}

template <class Net>
auto problem_of(Net const& net) {
  return ashlar::search::any_length(ashlar::nn::describe<double>(net, samples));
}

template <class Net>
void trains_alike(Net const& net) {
  auto const problem = problem_of(net);
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto const expected = losses_of(net, alone, plan_source(problem, alone).whole());
  CHECK(expected.back() < 0.99 * expected.front());
  std::mt19937 random(4);
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    for (int i = 0; i < 2; ++i) {
      auto const plan = plans.random(random);
      CAPTURE(describe(problem, plan));
      auto const here = losses_of(net, m, plan);
      for (std::size_t s = 0; s < here.size(); ++s)
        CHECK(here[s] == doctest::Approx(expected[s]).epsilon(1e-11));
    }
  }
}

}  // namespace

TEST_CASE("nn::verify finds nothing wrong with losses by formula") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"rank", world_size()}});
  nn::verify(squared, {5, 3}, m);
  nn::verify(huber, {3, 2, 4}, m);
  nn::verify(soft_cross_entropy, {4, 3}, m);
  nn::verify<float>(huber, {5, 3}, m);
}

TEST_CASE("the mean squared error has the rows of the one by hand") {
  auto const by_hand = nn::mean_squared_error().spec({4, 3}).rows;
  auto const rows = squared.spec({4, 3}).rows;
  CHECK(rows.size() == by_hand.size());
  for (auto const& row : by_hand) {
    bool found = false;
    for (auto const& other : rows)
      found = found || (same_role(row.x, other.x) && same_role(row.y, other.y) &&
                        same_role(row.dy, other.dy) && same_role(row.dx, other.dx));
    CHECK(found);
  }
  CHECK(!squared.spec({4, 3}).couples_rows);
}

TEST_CASE("the mean squared error trains as the one by hand") {
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto const net = net_with(squared);
  auto const hand = net_with(nn::mean_squared_error());
  auto const a = losses_of(net, alone, plan_source(problem_of(net), alone).whole());
  auto const b = losses_of(hand, alone, plan_source(problem_of(hand), alone).whole());
  for (std::size_t s = 0; s < a.size(); ++s) CHECK(a[s] == doctest::Approx(b[s]).epsilon(1e-13));
}

TEST_CASE("nets that end in a loss by formula train alike on any plan") {
  trains_alike(net_with(huber));
  trains_alike(net_with(soft_cross_entropy));
}

TEST_CASE("a loss says why it cannot split, and that it must use its targets") {
  CHECK(soft_cross_entropy.why_not({4, 3}, ashlar::split(1)) ==
        "soft with x S(1): softmax of 4x3 S(1) needs communication.");
  auto const forgets = nn::formula_loss("forgets", [](auto y, auto) { return y * y; });
  CHECK(message_of([&] {
          forgets.spec({4, 3});
        }) == "forgets: the formula of the loss does not use the targets of extents 4x3.");
}

}  // namespace ashlar_test
