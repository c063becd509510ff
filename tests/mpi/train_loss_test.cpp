// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests a network that ends with a loss layer of its own, the mean squared error. Under every plan,
// training must have the losses of one process. The loss of evaluate() must equal the value that
// the test computes from the predictions.

#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/mean_squared_error.hpp>

namespace ashlar_test {
namespace {

auto const regression = ashlar::nn::chain(ashlar::nn::linear(3, 5), ashlar::nn::gelu(),
                                          ashlar::nn::linear(5, 2),
                                          ashlar::nn::mean_squared_error());
constexpr ashlar::nn::feature_batch points{7, 3, 2};

/// Returns random points and the values of a smooth function at these points.
ashlar::train::batch_data<double, double> drawn_points(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  ashlar::train::batch_data<double, double> data;
  for (int i = 0; i < 14; ++i) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      data.inputs.push_back(normal(random));
      sum += data.inputs.back();
    }
    data.targets.push_back(0.3 * sum);
    data.targets.push_back(1 - 0.2 * sum);
  }
  return data;
}

template <class Model>
std::vector<double> train_on_points(Model& model) {
  ashlar::train::trainer trainer(model, ashlar::train::sgd{.lr = 0.05, .momentum = 0.5});
  std::vector<double> all;
  for (unsigned s = 0; s < 12; ++s) all.push_back(trainer.step(drawn_points(s % 2)).loss);
  return all;
}

}  // namespace

TEST_CASE("mean squared error trains the same on any plan") {
  auto const problem = ashlar::search::any_length(ashlar::nn::describe<double>(regression, points));
  CHECK(std::string(problem.spec(problem.size() - 1).name.text) == "mean_squared");
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  auto single = ashlar::nn::place<double>(regression, alone, plan_source(problem, alone).whole(),
                                          3);
  auto const expected = train_on_points(single);
  CHECK(expected.back() < 0.6 * expected.front());
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(4);
    for (int i = 0; i < 4; ++i) {
      auto const plan = plans.random(random);
      CAPTURE(describe(problem, plan));
      auto model = ashlar::nn::place<double>(regression, m, plan, 3);
      auto const found = train_on_points(model);
      for (std::size_t s = 0; s < found.size(); ++s) CHECK(near(found[s], expected[s], 1e-10));
    }
  }
}

TEST_CASE("mean squared error by hand, and targets that are too few") {
  auto const problem = ashlar::search::any_length(ashlar::nn::describe<double>(regression, points));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  std::mt19937 random(9);
  auto model = ashlar::nn::place<double>(regression, m, plan_source(problem, m).random(random), 3);
  auto data = drawn_points(1);
  auto const inputs = std::span<double const>(data.inputs).first(21);
  auto const targets = std::span<double const>(data.targets).first(14);
  auto const predicted = model.predict(inputs);
  REQUIRE(predicted.size() == 14);
  double expected = 0;
  for (std::size_t i = 0; i < 14; ++i)
    expected += (predicted[i] - targets[i]) * (predicted[i] - targets[i]);
  CHECK(near(model.evaluate(inputs, targets), expected / 14, 1e-12));
  CHECK(message_of([&] { model.accumulate(inputs, targets.first(3), 0); }) ==
        "model: 3 targets for a micro-batch of 7x2.");
}

}  // namespace ashlar_test
