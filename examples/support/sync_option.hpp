// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The options --sync and --wire: how the gradients of a plan's parameters are synchronized, and how
// they are encoded on their way.

#pragma once

#include <string>

#include <ashlar/machine/machine.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/step/plan.hpp>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace example {

/// Adds the option --sync. Without it, `name` stays empty.
CLI::Option* add_sync_option(CLI::App& app, std::string& name);

/// Returns whether the search is to choose where parameters are updated (problem::updates_apart).
bool search_chooses_updates(std::string const& name);

/// Returns the plan with the strategy of this name, or unchanged if there is none of this name to
/// apply: if the name is empty, or if the search has chosen. Throws ashlar::error if the changed
/// plan needs more memory on a rank than the machine has. `gap` gets the gap of the strategy
/// `optimal`, and else 1.
ashlar::search::plan synchronized_by(std::string const& name, ashlar::search::problem problem,
                                     ashlar::search::plan const& plan,
                                     ashlar::machine const& machine, double* gap = nullptr);
/// The same for a pipeline. There the strategy `optimal` is chosen without regard to the memory
/// limit, so the changed plan may be refused.
ashlar::search::pipeline_plan synchronized_by(std::string const& name,
                                              ashlar::search::problem const& problem,
                                              ashlar::search::pipeline_plan const& plan,
                                              ashlar::machine const& machine);

/// Adds the option --wire. Without it, `name` stays empty.
CLI::Option* add_wire_option(CLI::App& app, std::string& name);

/// Returns the plan with the wire of this name for all gradients that are summed over ranks, or
/// unchanged if the name is empty. Throws ashlar::error if there is no such wire, or if the changed
/// plan needs more memory on a rank than the machine has.
ashlar::search::plan encoded_by(std::string const& name, ashlar::search::problem problem,
                                ashlar::search::plan const& plan, ashlar::machine const& machine);

/// Returns a table of the seconds that the wire of this name saves or costs; empty if the name is.
std::string wire_text(std::string const& name, ashlar::search::problem problem,
                      ashlar::search::plan const& plan, ashlar::machine const& machine);

/// Returns a table of how a plan synchronizes gradients that was made from the plan `before` by
/// synchronized_by with this name and this gap. It is empty if synchronized_by changes nothing.
std::string synchronization_text(std::string const& name, ashlar::search::problem problem,
                                 ashlar::search::plan const& before,
                                 ashlar::search::plan const& after, ashlar::machine const& machine,
                                 double gap);

}  // namespace example
