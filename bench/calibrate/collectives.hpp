// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures single steps of redistribution plans. The time of a trial is the slowest rank's time.
// The time of a step is the median of several trials. All groups of ranks of a mesh run the step at
// once, and the buffers are in no cache. sample_of() in groups.hpp turns the times into samples, to
// which the cost model is fitted.

#include <cstdint>
#include <vector>

#include <mpi.h>

#include "../support/trials.hpp"
#include "groups.hpp"

namespace ashlar_bench {

struct collective_sample {
  group of;
  measured_step what;
  /// The step's number of messages, number of bytes and seconds, computed by sample_of() in
  /// groups.hpp. If the group has links within nodes and between nodes, only the seconds are valid.
  ashlar::link_sample sample;
};

/// Returns the seconds that `m` predicts for the measured step.
double predicted_seconds(collective_sample const& s, ashlar::machine const& m);

/// Measures every step of every group at every size. Sizes are in bytes. Successive calls use
/// successive source buffers, of about `cold` bytes in total, and as many target buffers. There is
/// at least one buffer of each kind. `cold` must be larger than every cache. Every result is
/// checked before anything is timed. Throws if a result is wrong. Collective.
std::vector<collective_sample> measure_collectives(MPI_Comm world, std::vector<group> const& groups,
                                                   std::vector<std::int64_t> const& sizes,
                                                   std::int64_t cold, effort const& how);

}  // namespace ashlar_bench
