// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The options of a trainer (trainer.hpp).

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include <ashlar/support/error.hpp>
#include <ashlar/train/schedule.hpp>

namespace ashlar::train {

/// Says whether transfers overlap with computations. Both choices give the same results, bit by
/// bit.
enum class overlap : signed char {
  as_planned,  ///< overlap where this makes the predicted step faster (step/overlapped.hpp)
  none         ///< run everything one after the other
};

/// The options of a trainer apart from its optimizer.
struct trainer_options {
  /// If the global norm of the gradients is larger than `clip`, all gradients are scaled down so
  /// that the norm becomes `clip`.
  double clip = std::numeric_limits<double>::infinity();
  std::function<double(std::int64_t)> schedule = constant_rate{};
  /// The floating-point operations of a step, as search::model_flops computes them. If step_flops
  /// is 0, the report has no model flops utilization.
  double step_flops = 0;
  double peak_flops = 0;        ///< the peak flops per second of one rank (machine/peak.hpp)
  double bubble = 0;            ///< the predicted bubble of a pipeline, for the progress line
  char const* unit = "tokens";  ///< the name of the batch's rows in the progress line
  train::overlap overlap = train::overlap::as_planned;
  bool record_times = false;  ///< records when each action of the last step ran (step_trace.hpp)
  bool graph = false;  ///< on devices: computes gradients by a CUDA graph (replayed_step.hpp)

  /// Throws ashlar::error if an option has an invalid value.
  void check() const {
    if (!(clip > 0))
      throw error("trainer", "clip is " + std::to_string(clip) + ", but must be above 0.");
    if (!schedule)
      throw error("trainer", "the schedule is empty. Give a function of the step, or "
                             "train::constant_rate{}.");
    if (graph && record_times)
      throw error("trainer", "the actions of a CUDA graph have no times of their own. Leave "
                             "trainer_options.record_times or trainer_options.graph off.");
  }
  /// Returns the model flops utilization (step_report.hpp) of a step that takes so many seconds.
  double utilization(double seconds, int ranks) const {
    return step_flops > 0 && peak_flops > 0 ? step_flops / (seconds * ranks * peak_flops) : 0;
  }
};

}  // namespace ashlar::train
