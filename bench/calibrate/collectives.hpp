// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measured steps as samples for a fit: how long, and how many messages and bytes the cost model
// charges. Those come out of the cost model itself, asked on machines where one message, or one byte,
// takes a second and all else nothing.

#include <cstdint>
#include <vector>

#include <mpi.h>

#include <ashlar/machine/fit_link.hpp>

#include "../support/trials.hpp"
#include "groups.hpp"

namespace ashlar_bench {

struct collective_sample {
  group of;
  measured_step what;
  ashlar::link_sample sample;  ///< of its tier; of groups that reach both, the seconds alone
};

/// Seconds that `m` predicts.
double predicted_seconds(collective_sample const& s, ashlar::machine const& m);

/// Medians of the slowest rank, for every step of every group at every size, out of buffers of `cold`
/// bytes in all. Results are checked before they are timed; throws if one is wrong. Collective.
std::vector<collective_sample> measure_collectives(MPI_Comm world, std::vector<group> const& groups,
                                                   std::vector<std::int64_t> const& sizes,
                                                   std::int64_t cold, effort const& how);

}  // namespace ashlar_bench
