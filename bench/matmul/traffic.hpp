// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bytes that a call makes the ranks receive, counted below the library from the arguments of the
// MPI calls alone (the tests' support/mpi_traffic.hpp).

#include <cstdint>
#include <functional>

#include <mpi.h>

namespace ashlar_bench {

struct received {
  std::int64_t most = 0;    ///< bytes of the rank that received most
  bool is_complete = true;  ///< no call that the count does not know
};

/// Collective over `comm`.
received count_received(MPI_Comm comm, std::function<void()> const& run);

}  // namespace ashlar_bench
