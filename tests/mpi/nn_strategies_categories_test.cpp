// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests that training a small DLRM under common plans and strategies of synchronization equals
// training on one process, and that each step performs exactly the collectives of the plan's
// schedule.

#include <doctest/doctest.h>
#include <support/placed.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/dlrm.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("a small DLRM under usual plans and under each strategy of synchronization") {
  auto const net = nn::dlrm({.tables = 3, .rows = 7, .features = 4, .top = {5, 4, 3, 3}});
  nn::category_batch const batch{5, 3, 2};
  for (auto const& m : all_meshes_of_two_machines()) {
    training_trial<std::remove_const_t<decltype(net)>, nn::category_batch> it(net, batch, m, 7, 2);
    check_usual_plans(it, m);
    if (m.axes() <= 2) check_strategies(it, m);
  }
}

}  // namespace ashlar_test
