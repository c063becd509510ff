// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Applies four options to plans. They say how gradients are synchronized (--sync), how gradients
// are encoded while they are sent (--wire), by how many steps gradients are delayed (--delay), and
// how old the parameters may be that ranks read (--staleness).

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
/// `name` is the value of --sync.
bool search_chooses_updates(std::string const& name);

/// Returns the plan with the strategy `name`, the value of --sync. If the name is empty, or auto
/// (the search has then chosen the strategies), returns the plan unchanged. Throws ashlar::error if
/// the changed plan needs more memory on a rank than the machine has. If `gap` is not null, *gap is
/// set to the gap of sync::optimal if the strategy is `optimal`, and to 1 otherwise.
ashlar::search::plan synchronized_by(std::string const& name,
                                     ashlar::search::problem const& problem,
                                     ashlar::search::plan const& plan,
                                     ashlar::machine const& machine, double* gap = nullptr);
/// Returns the pipeline with the strategy `name`, the value of --sync. If the name is empty, or
/// auto (the search has then chosen the strategies), returns the pipeline unchanged. Throws
/// ashlar::error if the changed pipeline needs more memory on a rank than the machine has. This can
/// happen with the strategy `optimal` too, because it ignores the memory limit here.
ashlar::search::pipeline_plan synchronized_by(std::string const& name,
                                              ashlar::search::problem const& problem,
                                              ashlar::search::pipeline_plan const& plan,
                                              ashlar::machine const& machine);

/// Adds the options --wire and --plain-steps. Without --wire, `name` stays empty.
void add_wire_options(CLI::App& app, std::string& name, int& plain_steps);

/// Returns the plan in which gradients that are summed over ranks have the wire (plan/wire.hpp) of
/// this name, except in the first `plain_steps` steps. sync/encoded.hpp says which gradients are
/// sent as they are. If the name is empty, returns the plan unchanged. Throws ashlar::error if
/// there is no such wire, or if the changed plan needs more memory on a rank than the machine has.
ashlar::search::plan encoded_by(std::string const& name, int plain_steps,
                                ashlar::search::problem const& problem,
                                ashlar::search::plan const& plan, ashlar::machine const& machine);

/// Returns the plan in which all gradients are delayed by `steps` steps. If `steps` is 0, returns
/// the plan unchanged. Throws ashlar::error if `steps` is too large, or if the changed plan needs
/// more memory on a rank than the machine has.
ashlar::search::plan delayed_by(int steps, ashlar::search::problem const& problem,
                                ashlar::search::plan const& plan, ashlar::machine const& machine);

/// Returns the plan in which ranks send their gradients to the ranks that own the parameters, and
/// read parameters that are stale by at most `staleness` steps. If `staleness` is below 0, returns
/// the plan unchanged. `name` is the value of --sync. Throws ashlar::error if `name` is neither
/// empty nor `owners`, if sync::owners refuses the plan, or if the changed plan needs more memory
/// on a rank than the machine has.
ashlar::search::plan stale_by(int staleness, std::string const& name,
                              ashlar::search::problem const& problem,
                              ashlar::search::plan const& plan, ashlar::machine const& machine);

/// Returns a table of the seconds that the wire of this name saves or costs, as text. If the name
/// is empty, returns an empty text.
std::string wire_text(std::string const& name, ashlar::search::problem const& problem,
                      ashlar::search::plan const& plan, ashlar::machine const& machine);

/// Returns a table that shows how the plan `after` synchronizes gradients. synchronized_by has made
/// `after` from the plan `before`, and has set `gap`. `name` is the value of --sync. If the name is
/// empty or auto, the table is empty.
std::string synchronization_text(std::string const& name, ashlar::search::problem const& problem,
                                 ashlar::search::plan const& before,
                                 ashlar::search::plan const& after, ashlar::machine const& machine,
                                 double gap);

}  // namespace example
