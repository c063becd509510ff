// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Steps of plans, measured: medians of the time of the slowest rank, all groups of a mesh at once, out
// of buffers that no cache holds. What the fits are made from (groups.hpp: sample_of).

#include <cstdint>
#include <vector>

#include <mpi.h>

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
