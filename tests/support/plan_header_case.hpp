// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The net and mesh of tests/plans/mlp_2x2.inc, a header that save_plan_header wrote: one test holds
// that it still writes it so, another trains by it. A layer under a pin-like filter is there so that
// placements of all kinds occur, shard orders and sharded storage among them.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {

constexpr auto header_net = ashlar::nn::chain(ashlar::nn::linear(12, 20), ashlar::nn::gelu(),
                                              ashlar::nn::linear(20, 7));
constexpr ashlar::nn::feature_batch header_batch{8, 12};
constexpr ashlar::topology header_mesh{{"node", 2}, {"gpu", 2}};

/// The plan that the header holds.
inline auto header_plan() {
  auto const problem = ashlar::nn::describe(header_net, header_batch);
  return ashlar::search::optimal(
      problem, header_mesh, ashlar::machines::workstation,
      [](int i, ashlar::search::layer_choice const& c) {
        if (i == 0)
          return c.x == ashlar::placement{ashlar::split(0, 1), ashlar::split(0, 0)} &&
                 !(c.parameters[0].store == c.parameters[0].use);
        return i != 2 || c.y == ashlar::placement{ashlar::split(0), ashlar::partial()};
      });
}

}  // namespace ashlar_test
