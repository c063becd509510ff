// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The network and mesh of tests/plans/mlp_2x2.inc, a header that save_plan_header wrote. One test
// checks that save_plan_header still writes the same header. Another test trains with the header's
// plan. The plan is not the fastest one: conditions on the layers' choices force placements of all
// kinds. Some of these placements have another shard order than the default, or shard the storage
// of parameters.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {

constexpr auto header_net = ashlar::nn::chain(ashlar::nn::linear(12, 20), ashlar::nn::gelu(),
                                              ashlar::nn::linear(20, 7));
constexpr ashlar::nn::feature_batch header_batch{8, 12};
constexpr ashlar::topology header_mesh{{"node", 2}, {"gpu", 2}};

/// Computes the plan that the header contains.
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
