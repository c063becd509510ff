// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures how much more a plan costs than the optimum if the machine was measured wrongly, as in
// table 5 of the HiDup paper. The search gets a machine with disturbed parameters
// (tests/support/disturbed.hpp). The cost of its plan is then computed for the true machine. Memory
// is not limited. The disturbances use the seeds 1, 2, ..., the same for every net, mesh and
// machine.

#include <string>
#include <vector>

#include <ashlar/machine/presets.hpp>

#include "../support/csv.hpp"
#include "nets.hpp"

namespace ashlar_bench {

/// Searches a plan for each of `trials` disturbed machines. Returns by how many per cent each of
/// these plans costs more than the optimum, in ascending order. `most` is the largest relative
/// error of a parameter: 0.2 means up to 20 %. If `of_collectives` is true, each collective has its
/// own error; otherwise each link tier has one.
std::vector<double> noise_trials(ashlar::search::problem const& net, ashlar::topology const& t,
                                 ashlar::machine const& truth, double most, bool of_collectives,
                                 int trials);

/// Runs the trials three times, with these errors of the machine's parameters:
///
/// - up to 20 %, a separate error for each collective
/// - up to 20 %, one error for each link tier
/// - up to 50 %, a separate error for each collective
///
/// Prints the excess costs and appends them to the table: mean, median, 95th percentile, maximum,
/// and the number of trials more than 2 % above the optimum.
void report_noise(named_net const& net, std::string const& mesh,
                  ashlar::named_machine const& machine, int trials, csv_file& table);

inline constexpr char const* noise_heading =
    "net,mesh,machine,noise_percent,of,trials,mean,median,p95,worst,above_2";

}  // namespace ashlar_bench
