// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2

// Tests a layer and a loss that are written as formulas. The test counts the calls of the two
// functions that compute the formulas. They may be called when a net is described and when it is
// placed, but never in a pass of the net.

#include <random>

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/formula_loss.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/repeat.hpp>

namespace ashlar_test {

TEST_CASE("the functions of formulas run when a net is placed, and in no pass") {
  namespace nn = ashlar::nn;
  int layer_runs = 0, loss_runs = 0;
  auto const gain = nn::formula(
      "gain",
      [&layer_runs](auto x, auto g) {
        ++layer_runs;
        return g * x;
      },
      nn::weight("gain", {4}, nn::all_equal(1)));
  auto const squared = nn::formula_loss("squared", [&loss_runs](auto y, auto target) {
    ++loss_runs;
    return (y - target) * (y - target);
  });
  auto const net = nn::chain(nn::linear(4, 4), nn::repeat(3, gain), squared);
  nn::feature_batch const batch{5, 4, 2};
  auto const problem = any_length(nn::describe<double>(net, batch));
  CHECK(layer_runs > 0);
  CHECK(loss_runs > 0);
  for (auto const& m : all_meshes()) {
    std::mt19937 random(3);
    auto const plan = plan_source(problem, m).random(random);
    layer_runs = loss_runs = 0;
    auto model = nn::place<double>(net, m, plan, 3);
    CHECK(layer_runs >= 3);  // the net has three gain layers and one loss
    CHECK(loss_runs >= 1);
    ashlar::train::trainer trainer(model, ashlar::train::sgd{.lr = 0.01});
    auto const data = data_for<double>(net, batch, 0, 4, 1);
    layer_runs = loss_runs = 0;
    double first = 0, last = 0;
    for (int step = 0; step < 10; ++step) {
      last = trainer.step(data).loss;
      if (step == 0) first = last;
    }
    CHECK(last < first);
    CHECK(model.evaluate(data.inputs, data.targets) < first);
    CHECK(layer_runs == 0);
    CHECK(loss_runs == 0);
  }
}

}  // namespace ashlar_test
