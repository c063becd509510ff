// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The seconds from which pipeline schedules are priced.

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

/// Returns costs for which all passes take equally long and transfers half as long. They decide how
/// the passes of different parts follow each other where the real costs are not known.
inline pipeline_costs equal_costs(int stages) {
  return pipeline_costs(static_cast<std::size_t>(stages), {1, 1, 1, 0.5, 0.5});
}

/// The seconds of what one micro-batch sends from a stage to a later one in addition, over the
/// stages between: the value of a skip, and back its gradient.
struct skip_transfer {
  int from = 0, to = 0;  ///< the two stages
  double forward = 0, backward = 0;
};
using skip_transfers = std::vector<skip_transfer>;

}  // namespace ashlar::pipelines
