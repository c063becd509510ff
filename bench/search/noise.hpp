// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What plans cost more than the optimum when the machine was measured wrongly (HiDup's table 5): the
// search gets a disturbed machine (tests/support/disturbed.hpp), its plan is priced on the true one.
// Memory is not limited. Seeds 1, 2, ..., the same for every net, mesh and machine.

#include <string>
#include <vector>

#include <ashlar/machine/presets.hpp>

#include "../support/csv.hpp"
#include "nets.hpp"

namespace ashlar_bench {

/// Percent above the optimum, one a trial, in ascending order. `most`: 0.2 for up to 20 %.
std::vector<double> noise_trials(ashlar::search::problem const& net, ashlar::topology const& t,
                                 ashlar::machine const& truth, double most, bool of_collectives,
                                 int trials);

/// Prints and appends to the table, for 20 % of noise in collectives and in tiers, and 50 %:
/// mean, median, 95th of 100, worst, and how many trials are above 2 %.
void report_noise(named_net const& net, std::string const& mesh,
                  ashlar::named_machine const& machine, int trials, csv_file& table);

inline constexpr char const* noise_heading =
    "net,mesh,machine,noise_percent,of,trials,mean,median,p95,worst,above_2";

}  // namespace ashlar_bench
