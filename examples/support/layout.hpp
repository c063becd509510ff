// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Where a training program's tensors lie: the searched optimum, a baseline, or a plan file.

#pragma once

#include <optional>
#include <string>

#include <ashlar/machine/machine.hpp>
#include <ashlar/step/plan.hpp>

#include "training_options.hpp"

namespace example {

/// The mesh that --mesh asks for; by default one axis of all ranks.
ashlar::topology choose_mesh(training_options const& o, int ranks);

/// The machine that plans are priced for: a file, a preset or `usual`, with --memory-limit.
ashlar::machine choose_machine(training_options const& o, ashlar::machine const& usual);

/// The plan called auto, data or tensor; none by another name.
std::optional<ashlar::search::plan> search_layout(std::string const& layout,
                                                  ashlar::search::problem const& problem,
                                                  ashlar::topology const& mesh,
                                                  ashlar::machine const& machine);

/// The plan that --layout asks for, in a file if it is none of these. Throws ashlar::error if there is none.
ashlar::search::plan choose_layout(training_options const& o,
                                   ashlar::search::problem const& problem,
                                   ashlar::topology const& mesh, ashlar::machine const& machine);

/// The plan as a person reads it; saved too if --save-layout asks for it.
std::string report_layout(training_options const& o, ashlar::search::problem const& problem,
                          ashlar::search::plan const& plan, ashlar::machine const& machine);

}  // namespace example
