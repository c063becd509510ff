// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures how long the search for pipelines takes under a memory limit, and how large the gap of
// its plan is. The net is a GPT of GPT-3's size, and the mesh consists of 128 servers of 8 GPUs.

#include <ashlar/machine/presets.hpp>

#include "../support/csv.hpp"

namespace ashlar_bench {

/// Searches once for the fastest pipeline on `machine` in 80 GB per GPU, for each of several sets
/// of schedules and cuts. Prints the results and appends them to the table: the CPU seconds from
/// the description of the net to the plan, and the seconds of a step, the stages, the memory and
/// the gap of the plan.
void report_pipelines(ashlar::named_machine const& machine, csv_file& table);

inline constexpr char const* pipelines_heading =
    "net,mesh,machine,limit_gb,searched,cpu_seconds,step_seconds,plan,memory_gb,gap_percent";

}  // namespace ashlar_bench
