// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one rank computes while all the others do too: products of float, square and thin, and one
// pass over arrays that no cache holds. Medians of the slowest rank.

#include <cstdint>
#include <vector>

#include <mpi.h>

#include <ashlar/machine/fit_gemm.hpp>

#include "../support/trials.hpp"

namespace ashlar_bench {

/// Products of extents up to `largest`: cubes, and thin along each dim. Collective.
std::vector<ashlar::gemm_sample> measure_gemms(MPI_Comm world, std::int64_t largest,
                                               effort const& how);

/// Bytes read and written per second by y = 2 x, x and y of `bytes` each. Collective.
double measure_memory(MPI_Comm world, std::int64_t bytes, effort const& how);

}  // namespace ashlar_bench
