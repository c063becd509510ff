// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plans and the strategies of synchronization that users choose, and checks of training under
// them. The losses must be those of the fully replicated plan, under which each rank computes as a
// single process does. The collectives and bytes must be those that the plans predict.

#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <support/training_trial.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {

/// Returns the plan that the search finds, and the plans of data parallelism, of tensor parallelism
/// and of ZeRO-3.
inline std::vector<ashlar::search::plan> usual_plans(ashlar::search::problem const& net,
                                                     ashlar::mesh const& m) {
  auto const& t = m.topology();
  namespace search = ashlar::search;
  return {search::optimal(net, t, m.machine()), search::data_parallel(net, t, m.machine()),
          search::tensor_parallel(net, t, m.machine()), search::zero_3(net, t, m.machine())};
}

/// Checks training on the mesh (training_trial.hpp) under the usual plans and under random plans,
/// whose number is `random`.
template <class Trial>
void check_usual_plans(Trial& it, ashlar::mesh const& m, int random = 0) {
  auto plans = usual_plans(it.problem(), m);
  std::mt19937 generator(5);
  for (int i = 0; i < random; ++i) plans.push_back(it.plans().random(generator));
  for (auto const& plan : plans) {
    auto const wrong = it.wrong_with(plan);
    CHECK_MESSAGE(wrong == "", wrong);
  }
}

/// Checks training on the mesh (training_trial.hpp) under data parallelism with each strategy of
/// synchronization (sync/named.hpp).
template <class Trial>
void check_strategies(Trial& it, ashlar::mesh const& m) {
  namespace search = ashlar::search;
  auto const plain = search::data_parallel(it.problem(), m.topology(), m.machine());
  for (auto const name : ashlar::sync::names()) {
    auto const wrong = it.wrong_with(ashlar::sync::named(name, it.problem(), plain, m.machine()));
    CHECK_MESSAGE(wrong == "", name << ": " << wrong);
  }
}

}  // namespace ashlar_test
