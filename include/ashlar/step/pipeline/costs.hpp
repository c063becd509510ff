// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The seconds of passes and transfers from which the length of a pipeline schedule is computed.

#include <vector>

#include <ashlar/step/pipeline/schedule.hpp>

namespace ashlar::pipelines {

/// The seconds of one stage for one micro-batch.
struct stage_costs {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
  double send_forward = 0;   ///< the transfer of y to the next stage
  double send_backward = 0;  ///< the transfer of dx to the stage before

  constexpr double of(pass p) const {
    switch (p) {
      case pass::forward: return forward;
      case pass::input_gradient: return input_gradient;
      case pass::weight_gradient: return weight_gradient;
      default: return input_gradient + weight_gradient;
    }
  }
  constexpr double all() const { return forward + input_gradient + weight_gradient; }
};

using pipeline_costs = std::vector<stage_costs>;  ///< one for each stage

/// Returns costs for which a forward pass and each of the two halves of a backward pass take one
/// second, and a transfer takes `transfer` seconds. Where the real costs are not known, these costs
/// decide how the passes of different parts follow each other.
constexpr pipeline_costs equal_costs(int stages, double transfer = 0.5) {
  return pipeline_costs(static_cast<std::size_t>(stages), {1, 1, 1, transfer, transfer});
}

/// The seconds of a skip's two transfers for one micro-batch: its input goes from stage `from` to a
/// later stage `to`, past the stages between, and its gradient goes back.
struct skip_transfer {
  int from = 0, to = 0;  ///< the two stages
  double forward = 0, backward = 0;
};
using skip_transfers = std::vector<skip_transfer>;

}  // namespace ashlar::pipelines
