// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures how much more a plan costs than the optimum if the machine was measured wrongly (HiDup,
// table 5). The search gets a machine with disturbed parameters (tests/support/disturbed.hpp), and
// the cost of its plan is computed for the true machine. Memory is not limited. The disturbances
// use the seeds 1, 2, ..., which are the same for every net, mesh and machine.

#include <string>
#include <vector>

#include <ashlar/machine/presets.hpp>

#include "../support/csv.hpp"
#include "nets.hpp"

namespace ashlar_bench {

/// Returns the excess over the optimum in per cent, one value for each trial, in ascending order.
/// `most` is the largest relative error: 0.2 means up to 20 %. If `of_collectives`, each collective
/// has its own error, otherwise each tier.
std::vector<double> noise_trials(ashlar::search::problem const& net, ashlar::topology const& t,
                                 ashlar::machine const& truth, double most, bool of_collectives,
                                 int trials);

/// Runs the trials with errors up to 20 % for each collective, up to 20 % for each tier, and up to
/// 50 % for each collective. Prints the excess costs and appends them to the table: mean, median,
/// 95th percentile, maximum, and the number of trials more than 2 % above the optimum.
void report_noise(named_net const& net, std::string const& mesh,
                  ashlar::named_machine const& machine, int trials, csv_file& table);

inline constexpr char const* noise_heading =
    "net,mesh,machine,noise_percent,of,trials,mean,median,p95,worst,above_2";

}  // namespace ashlar_bench
