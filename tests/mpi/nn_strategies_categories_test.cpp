// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests that training a small DLRM under common plans equals training on one process, and that each
// step performs exactly the collectives of the plan's schedule.

#include <doctest/doctest.h>
#include <support/placed.hpp>
#include <support/training_trial.hpp>

#include <ashlar/nn/dlrm.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
}  // namespace

TEST_CASE("a small DLRM under searched, data and tensor parallel plans") {
  auto const net = nn::dlrm({.tables = 3, .rows = 7, .features = 4, .top = {5, 4, 3, 3}});
  nn::category_batch const batch{5, 3, 2};
  for (auto const& m : all_meshes_of_two_machines()) {
    auto const& t = m.topology();
    training_trial<std::remove_const_t<decltype(net)>, nn::category_batch> it(net, batch, m, 7, 2);
    for (auto const& plan : {search::optimal(it.problem(), t, m.machine()),
                             search::data_parallel(it.problem(), t, m.machine()),
                             search::tensor_parallel(it.problem(), t, m.machine())}) {
      auto const wrong = it.wrong_with(plan);
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace ashlar_test
