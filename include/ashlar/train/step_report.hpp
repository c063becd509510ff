// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a training step tells, and the progress line it prints as. MFU, the model flops utilization, is
//
//   (operations that the step needs) / (seconds · ranks · peak of a rank)
//
// with the operations of step/model_flops.hpp, and is shown where the trainer was told both.

#include <cstdint>
#include <cstdio>
#include <ostream>

namespace ashlar::train {

/// What a step did; losses and norms are of all ranks, seconds of this one.
struct step_report {
  std::int64_t step = 0;            ///< from 0
  double loss = 0;                  ///< mean over the step's rows, before the update
  double gradient_norm = 0;         ///< of all parameters together, before clipping
  double learning_rate_factor = 0;  ///< of the schedule
  double tokens_per_second = 0;     ///< rows of all ranks together
  double seconds = 0;
  double communication_share = 0;      ///< of this rank's seconds, waiting for others included
  double model_flops_utilization = 0;  ///< share of all ranks' peak, 0: not known
  char const* unit = "tokens";         ///< what a row is called
};

inline std::ostream& operator<<(std::ostream& out, step_report const& r) {
  char line[160];
  std::snprintf(line, sizeof line,
                "step %5lld   loss %7.4f   grad norm %8.4f   %9.0f %s/s   %4.1f %% communication",
                static_cast<long long>(r.step), r.loss, r.gradient_norm, r.tokens_per_second,
                r.unit, 100 * r.communication_share);
  out << line;
  if (r.model_flops_utilization > 0) {
    std::snprintf(line, sizeof line, "   %4.1f %% MFU", 100 * r.model_flops_utilization);
    out << line;
  }
  return out;
}

}  // namespace ashlar::train
