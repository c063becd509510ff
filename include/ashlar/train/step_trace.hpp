// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes the last step of a trainer as a trace file (io/trace.hpp). For each action, the trace
// shows the times that every rank measured. Beside the measured times, the trace shows the times
// that the cost model predicts for the machine of the mesh.
//
//   train::trainer t(model, optimizer, {.record_times = true});
//   ...
//   train::write_step_trace("step.json", t);
//
// For a device, the measured times are the times at which the host submitted the work to the
// device.

#include <sstream>
#include <string>
#include <vector>

#include <ashlar/io/trace.hpp>
#include <ashlar/support/whole_file.hpp>
#include <ashlar/train/trainer.hpp>

namespace ashlar::train {

/// Writes the trace on rank 0. All ranks must call this function, because it communicates one
/// reduction of two numbers for each action and rank. Throws ashlar::error if no step was recorded
/// or the file cannot be written.
template <class Trainer>
void write_step_trace(std::string const& path, Trainer const& t) {
  auto const& m = t.model().mesh();
  auto const& p = t.program();
  auto const& mine = t.times();
  if (mine.size() != p.actions.size())
    throw error("write_step_trace",
                "no step was recorded. Set trainer_options.record_times, and take "
                "a step.");
  std::size_t const each = 2 * mine.size();
  std::vector<double> all(each * static_cast<std::size_t>(m.ranks()));
  double* own = all.data() + each * static_cast<std::size_t>(m.rank());
  for (auto const& when : mine) {
    *own++ = when.start;
    *own++ = when.end;
  }
  m.reduce(std::span<double>(all));
  if (m.rank() != 0) return;
  std::vector<io::traced_step> steps;
  double const* next = all.data();
  for (int r = 0; r < m.ranks(); ++r) {
    io::traced_step step{"rank " + std::to_string(r), {}};
    for (std::size_t i = 0; i < mine.size(); ++i, next += 2)
      step.actions.push_back({next[0], next[1]});
    steps.push_back(std::move(step));
  }
  steps.push_back({"predicted", step::timeline_of(p, m.machine()).actions});
  std::ostringstream text;
  io::write_trace(text, t.model().problem(), p, steps);
  write_whole(path, text.str(), "write_step_trace");
}

}  // namespace ashlar::train
