// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The placements of a training program's tensors: the searched optimum, a baseline, or a plan file.

#pragma once

#include <optional>
#include <string>

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
/// cannot be used, or if the plan cannot be changed in this way.
ashlar::search::plan choose_layout(training_options const& o,
                                   ashlar::search::problem const& problem,
                                   ashlar::topology const& mesh, ashlar::machine const& machine);

/// Returns the plan as readable text. Also saves the plan if --save-layout is given.
std::string report_layout(training_options const& o, ashlar::search::problem const& problem,
                          ashlar::search::plan const& plan, ashlar::machine const& machine);

}  // namespace example
