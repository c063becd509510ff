// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures the speed of a rank while all ranks compute: the speed of products of float matrices,
// and of a pass over arrays that are too large for the caches. The time of a trial is the slowest
// rank's time. Each result comes from the median time of several trials.

#include <cstdint>
#include <vector>

#include <mpi.h>

#include <ashlar/machine/fit_gemm.hpp>

#include "../support/trials.hpp"

namespace ashlar_bench {

/// Measures products with extents up to `largest`: cubes, and products that are thin along one
/// dimension. Collective.
std::vector<ashlar::gemm_sample> measure_gemms(MPI_Comm world, std::int64_t largest,
                                               effort const& how);

/// Returns the bytes per second that y = 2 x reads and writes, for arrays x and y of `bytes` bytes
/// each. Collective.
double measure_memory(MPI_Comm world, std::int64_t bytes, effort const& how);

}  // namespace ashlar_bench
