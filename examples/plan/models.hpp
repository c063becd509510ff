// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The nets, machines, algorithms and schedules that the program `plan` knows by name.

#pragma once

#include <string>
#include <vector>

#include <ashlar/machine/machine.hpp>
#include <ashlar/step/problem.hpp>

#include "options.hpp"

namespace example {

std::vector<std::string> model_names();
std::string machine_names();
std::string algorithm_names();
std::string schedule_names();

/// Returns the problem of the net that the options describe. Throws ashlar::error if there is no
/// such net, or if an option of the net is not valid.
ashlar::search::problem choose_model(options const& o);

/// Returns the machine that the options name, with the memory limit of the options. Throws
/// ashlar::error if there is no such machine, or if the limit is not valid.
ashlar::machine choose_machine(options const& o);

}  // namespace example
