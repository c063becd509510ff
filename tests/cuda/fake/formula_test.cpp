// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests a net whose layers are formulas, on fake GPU ranks (fake_cuda.hpp), under many kinds of
// parallelization plans. Predictions, gradients and losses must agree with the host's results to
// 1e-5. Each step must record the collectives that the plan predicts. An operator that has no
// kernel for devices must be refused.

#include <doctest/doctest.h>
#include <support/device_nets.hpp>
#include <support/message_of.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {

TEST_CASE("formulas in float") {
  device_trial const trial(every_operator(), nn::token_batch{3, 5, 2}, 11, 11, 2);
  for (ashlar::topology const& t : {ashlar::topology{{"gpu", 1}}, {{"gpu", 2}}})
    fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) {
      trial.hold_all<float>({w, t}, t.ranks(), {1e-5, 1e-5, 1e-5});
    });
}

TEST_CASE("an operator of a formula that has no kernel is refused") {
  auto const rows = nn::formula(
      "rows",
      [](auto x, auto table, auto w) {
        return einsum<"abcd,d->abc">(take_rows(table, where(relu(x), 1, x - x)), w);
      },
      nn::weight("table", {2, 3}), nn::weight("w", {3}, nn::all_equal(1)));
  auto const net = nn::chain(nn::embedding(11, 6), rows, nn::linear(6, 11));
  auto const problem = nn::describe<float>(net, nn::token_batch{1, 5, 1});
  fake::all_ranks(1, [&](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const m(w, {{"gpu", 1}});
    auto const plan = search::optimal(problem, m.topology(), m.machine());
    auto const said = message_of([&] { nn::place<float>(net, m, plan, 7); });
    if (!has(said, "rows: take_rows runs on the host only, and this formula is placed on GPU "
                   "ranks."))
      throw std::logic_error(said);
  });
}

}  // namespace ashlar_test
