// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the bytes that ranks receive during a call. The count is taken below the library, from the
// arguments of the MPI calls alone (tests/support/mpi_traffic.hpp).

#include <cstdint>
#include <functional>

#include <mpi.h>

namespace ashlar_bench {

struct received {
  std::int64_t most = 0;    ///< the maximum over the ranks of the bytes received
  bool is_complete = true;  ///< whether the bytes of all MPI calls could be counted
};

/// Runs `run` and counts. Collective over `comm`.
received count_received(MPI_Comm comm, std::function<void()> const& run);

}  // namespace ashlar_bench
