// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests a net with the layers of a GPT, dropout, relu and a skip, on fake GPU ranks
// (fake_cuda.hpp), under many kinds of parallelization plans. Predictions, gradients and losses
// must agree with the host's results to 1e-5. Each step must record the collectives that the plan
// predicts.

#include <doctest/doctest.h>
#include <support/device_nets.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {

TEST_CASE("every layer in float") {
  device_trial const trial(every_layer(), nn::token_batch{3, 5, 2}, 11, 11, 3);
  for (ashlar::topology const& t :
       {ashlar::topology{{"gpu", 1}}, {{"gpu", 2}}, {{"node", 2}, {"gpu", 2}}})
    fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) {
      trial.hold_all<float>({w, t}, t.ranks(), {1e-5, 1e-5, 1e-5});
    });
}

}  // namespace ashlar_test
