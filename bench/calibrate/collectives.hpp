// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures single steps of redistribution plans: the median time of the slowest rank. All groups of
// ranks of a mesh run at once, and the buffers are in no cache. The cost model is fitted to these
// samples (sample_of in groups.hpp).

#include <cstdint>
#include <vector>

#include <mpi.h>

#include "../support/trials.hpp"
#include "groups.hpp"

namespace ashlar_bench {

struct collective_sample {
  group of;
  measured_step what;
  /// The messages, bytes and seconds of the step (sample_of). For groups that use both tiers only
  /// the seconds are valid.
  ashlar::link_sample sample;
};

/// Returns the seconds that `m` predicts for the measured step.
double predicted_seconds(collective_sample const& s, ashlar::machine const& m);

/// Measures every step of every group at every size in bytes. Calls rotate through source buffers
/// with `cold` bytes in total and through target buffers of the same size, which should not fit
/// into any cache. Results are checked before anything is timed. Throws if one is wrong.
/// Collective.
std::vector<collective_sample> measure_collectives(MPI_Comm world, std::vector<group> const& groups,
                                                   std::vector<std::int64_t> const& sizes,
                                                   std::int64_t cold, effort const& how);

}  // namespace ashlar_bench
