// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures how much more than the optimum plans cost if the machine was measured wrongly (HiDup,
// table 5). The search gets a disturbed machine (tests/support/disturbed.hpp), and its plan is
// priced on the true one. Memory is not limited. The seeds 1, 2, ... are the same for every net,
// mesh and machine.

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

/// Prints the results and appends them to the table, for 20 % of noise in collectives, 20 % in
/// tiers and 50 % in collectives: mean, median, 95th percentile, worst, and the number of trials
/// more than 2 % above the optimum.
void report_noise(named_net const& net, std::string const& mesh,
                  ashlar::named_machine const& machine, int trials, csv_file& table);

inline constexpr char const* noise_heading =
    "net,mesh,machine,noise_percent,of,trials,mean,median,p95,worst,above_2";

}  // namespace ashlar_bench
