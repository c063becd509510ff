// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Measures how long a training step takes on this rank, and on the host how much of it was
// communication. On devices, the host only gives transfers to the device and does not see how long
// they take, so the report says that communication was not measured.

#include <algorithm>

#include <ashlar/support/stopwatch.hpp>
#include <ashlar/train/step_report.hpp>

namespace ashlar::train {

/// The clock of one step, which starts when it is constructed. The model must outlive the clock.
template <class Model>
class step_clock {
 public:
  explicit step_clock(Model const& model)
      : model_(model), communicated_(communication_seconds()),
        hidden_(model.mesh().operations().seconds_hidden()) {}

  double seconds() const { return time_.seconds(); }

  /// Writes the seconds since the start, the speed and the communication to the report of a step
  /// with `rows` rows.
  void write_to(step_report& report, double rows) const {
    report.seconds = seconds();
    report.tokens_per_second = rows / report.seconds;
    report.measures_communication = Model::mesh_type::processor_type::is_host;
    if (!report.measures_communication) return;
    report.exposed_seconds = communication_seconds() - communicated_;
    report.hidden_seconds = std::max(0.0, model_.mesh().operations().seconds_hidden() - hidden_);
    report.communication_share = report.exposed_seconds / report.seconds;
  }

 private:
  /// Returns the seconds that this rank has spent in communication, in all steps.
  double communication_seconds() const {
    auto const &mesh = model_.mesh(), &stage = model_.stage_mesh();
    return mesh.communication_seconds() + (stage == mesh ? 0 : stage.communication_seconds());
  }

  Model const& model_;
  stopwatch time_;
  double communicated_, hidden_;
};

}  // namespace ashlar::train
