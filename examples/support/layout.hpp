// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Chooses the plan that places a training program's tensors: the searched optimum, data or tensor
// parallelism, or the plan in a file. Also writes and prints plans.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ashlar/comm/throw_together.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/step/plan.hpp>

#include "training_options.hpp"

namespace example {

/// Returns the mesh of --mesh, by default a mesh of one axis with all ranks.
ashlar::topology choose_mesh(training_options const& o, int ranks);

/// Returns the machine for which plans are priced. --machine names it (a file or a preset); without
/// this option it is `usual`. --memory-limit replaces the machine's memory limit.
ashlar::machine choose_machine(training_options const& o, ashlar::machine const& usual);

/// Returns the plan for layout auto (the searched optimum), data (data parallelism) or tensor
/// (tensor parallelism), and nothing for any other name.
std::optional<ashlar::search::plan> search_layout(std::string const& layout,
                                                  ashlar::search::problem const& problem,
                                                  ashlar::topology const& mesh,
                                                  ashlar::machine const& machine);

/// Returns the plan of --layout, changed as --sync, --wire, --delay and --staleness demand. If
/// --layout is not auto, data or tensor, it names a plan file. Throws ashlar::error if that file
/// cannot be used, if the plan cannot be changed in this way, or if it then needs more memory than
/// --memory-limit permits.
ashlar::search::plan choose_layout(training_options const& o,
                                   ashlar::search::problem const& problem,
                                   ashlar::topology const& mesh, ashlar::machine const& machine);

/// Throws ashlar::error if --memory-limit is given and a plan that needs `bytes` bytes on a rank
/// exceeds this limit. `machine` is the machine that choose_machine has returned.
void refuse_over_limit(training_options const& o, std::int64_t bytes,
                       ashlar::machine const& machine);

/// Writes the plan to the file of --save-layout, if this option is given: rank 0 calls write(path).
/// All ranks must call this function. Throws ashlar::error on every rank if rank 0 cannot write.
template <class Mesh, class Write>
void save_layout(training_options const& o, Mesh const& mesh, Write const& write) {
  if (o.save_layout.empty()) return;
  ashlar::work_together(mesh, "--save-layout", "writes a file", [&] {
    if (mesh.rank() == 0) write(o.save_layout);
  });
}

/// Writes a plan as a file that --layout reads. Throws ashlar::error if this is impossible.
void write_layout(std::string const& path, ashlar::search::problem const& problem,
                  ashlar::search::plan const& plan);

/// Returns the plan as readable text.
std::string report_layout(training_options const& o, ashlar::search::problem const& problem,
                          ashlar::search::plan const& plan, ashlar::machine const& machine);

}  // namespace example
