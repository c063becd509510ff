// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures how long the exact search takes if memory is limited. The net is a Llama of 70 billion
// parameters, and the mesh consists of 16 servers of 8 GPUs. The net's fastest plan does not fit in
// the memory of a GPU.

#include <ashlar/machine/presets.hpp>

#include "../support/csv.hpp"

namespace ashlar_bench {

/// The most labels that a search under the memory limit makes (search_effort::labels).
inline constexpr int most_labels = 1'000'000;

/// Searches `runs` times for the fastest plan on `machine`, both without a memory limit and with
/// the machine's memory as the limit. Prints the results and appends them to the table. The results
/// are the least and the median CPU milliseconds from the description of the net to the plan, and
/// the seconds of a step, the memory and the gap of the plan.
void report_limited(ashlar::named_machine const& machine, int runs, csv_file& table);

inline constexpr char const* limited_heading =
    "net,mesh,machine,limit_gb,least_ms,median_ms,step_seconds,memory_gb,gap_percent";

}  // namespace ashlar_bench
