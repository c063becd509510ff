// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Where train_gpt's tensors lie: the searched optimum, a baseline, or a plan file.

#pragma once

#include <string>

#include <ashlar/machine/machine.hpp>
#include <ashlar/search/plan.hpp>

#include "options.hpp"

namespace example {

/// The machine that plans are priced for: a file or the preset, with --memory-limit.
ashlar::machine choose_machine(options const& o);

/// The plan that --layout asks for. Throws ashlar::error if there is none.
ashlar::search::plan choose_layout(options const& o, ashlar::search::problem const& problem,
                                   ashlar::topology const& mesh, ashlar::machine const& machine);

/// The plan as a person reads it; saved too if --save-layout asks for it.
std::string report_layout(options const& o, ashlar::search::problem const& problem,
                          ashlar::search::plan const& plan, ashlar::machine const& machine);

}  // namespace example
