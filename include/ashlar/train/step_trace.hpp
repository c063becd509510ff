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
// device. In a pipeline, the trace lists the ranks of the first part of the mesh, then those of the
// next part, and so on. Such a trace has no predicted times, because the timeline of one part does
// not know when the other parts send.

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <ashlar/comm/throw_together.hpp>
#include <ashlar/io/trace.hpp>
#include <ashlar/support/whole_file.hpp>
#include <ashlar/train/trainer.hpp>

namespace ashlar::train {

namespace detail {

/// Returns the texts of all ranks on rank 0, and nothing on other ranks. Communicates: an
/// all-reduce of the lengths, and a broadcast of each text.
template <class Mesh>
std::vector<std::string> texts_of_ranks(Mesh const& m, std::string const& mine) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(m.ranks())), words;
  sizes[static_cast<std::size_t>(m.rank())] = static_cast<std::int64_t>(mine.size());
  m.all_reduce(std::span<std::int64_t>(sizes));
  std::vector<std::string> all;
  for (int r = 0; r < m.ranks(); ++r) {
    auto const bytes = static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]);
    words.assign((bytes + sizeof(std::int64_t) - 1) / sizeof(std::int64_t), 0);
    if (r == m.rank()) std::memcpy(words.data(), mine.data(), bytes);
    m.broadcast(std::span<std::int64_t>(words), r);
    if (m.rank() == 0) all.emplace_back(reinterpret_cast<char const*>(words.data()), bytes);
  }
  return all;
}

}  // namespace detail

/// Writes the trace on rank 0. All ranks must call this function, because it communicates the
/// events of each rank. Throws ashlar::error on every rank if no step was recorded or the file
/// cannot be written.
template <class Trainer>
void write_step_trace(std::string const& path, Trainer const& t) {
  auto const& m = t.model().mesh();
  auto const& p = t.program();
  if (t.times().size() != p.actions.size())
    throw error("write_step_trace",
                "no step was recorded. Set trainer_options.record_times, and take "
                "a step.");
  auto const* const part = t.model().pipeline();
  auto const& stage = t.model().stage_mesh();
  io::traced_step const mine{
      "rank " + std::to_string(m.rank()) +
          (part != nullptr ? ", part " + std::to_string(part->position) : std::string()),
      t.times()};
  int const group = (part != nullptr ? part->position : 0) * stage.ranks() + stage.rank();
  auto const& net = t.model().problem();
  auto groups = detail::texts_of_ranks(m, io::trace_events(net, p, mine, group));
  work_together(m, "write_step_trace", "writes a file", [&] {
    if (m.rank() != 0) return;
    if (part == nullptr)
      groups.push_back(io::trace_events(
          net, p, {"predicted", step::timeline_of(p, m.machine()).actions}, m.ranks()));
    std::ostringstream text;
    io::write_trace(text, groups);
    write_whole(path, text.str(), "write_step_trace");
  });
}

}  // namespace ashlar::train
