// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests a net in bfloat16 with float parameters, on fake GPU ranks (fake_cuda.hpp). Results must be
// close to the host's results, which are computed in float. Each step must record the collectives
// that the plan predicts, in which sums of gradients are communicated as float.

#include <doctest/doctest.h>
#include <support/device_nets.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {

TEST_CASE("a small GPT in bfloat16") {
  auto const net = nn::gpt({.layers = 2, .features = 16, .heads = 2, .vocabulary = 17});
  device_trial const trial(net, nn::token_batch{4, 6}, 17, 17, 3);
  for (ashlar::topology const& t :
       {ashlar::topology{{"gpu", 1}}, {{"gpu", 2}}, {{"node", 2}, {"gpu", 2}}})
    fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) {
      trial.hold_all<ashlar::bfloat16>({w, t}, 1, {0.03, 0.06, 0.1});
    });
}

}  // namespace ashlar_test
