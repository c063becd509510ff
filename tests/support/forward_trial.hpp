// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares the predictions of a network with formulas that the test writes as plain loops. The
// network runs under the fully replicated plan and under random plans, with noise added to its
// parameters. Other tests would not notice a wrong formula in the forward pass: they compare
// gradients only with the network's own forward pass, or plans only with each other.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

namespace ashlar_test {

/// Checks predictions on all meshes of MPI_COMM_WORLD. `by_hand(parameters, inputs)` returns the
/// expected predictions in row-major order.
template <class Net, class Batch, class ByHand>
void check_predictions(Net const& net, Batch const& batch, int vocabulary, ByHand by_hand) {
  using input = std::conditional_t<ashlar::nn::takes_tokens<Net>(), std::int32_t, double>;
  auto const problem = any_length(ashlar::nn::describe<double>(net, batch));
  auto const data = random_batch<input>(batch, vocabulary, 2, 8);
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(3);
    for (int turn = 0; turn < 6; ++turn) {
      auto const plan = turn == 0 ? plans.whole() : plans.random(random);
      auto model = ashlar::nn::place<double>(net, m, plan, 2);
      auto values = values_of(model);
      disturb(values, 5);
      set_values(model, values);
      auto const apart = difference({model.predict(data.inputs)}, {by_hand(values, data.inputs)});
      CHECK_MESSAGE(apart < 1e-12, apart, describe(problem, plan));
    }
  }
}

}  // namespace ashlar_test
