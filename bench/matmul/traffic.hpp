// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the bytes that ranks receive while a product of any library runs. Intercepts the MPI calls
// during this time and computes the bytes from the calls' arguments
// (tests/support/mpi_traffic.hpp).

#include <cstdint>
#include <functional>

#include <mpi.h>

namespace ashlar_bench {

struct received {
  std::int64_t most = 0;    ///< the maximum over the ranks of the bytes received
  bool is_complete = true;  ///< whether the bytes of all MPI calls could be counted
};

/// Calls `run` and returns the bytes received during the call. Collective over `comm`.
received count_received(MPI_Comm comm, std::function<void()> const& run);

}  // namespace ashlar_bench
