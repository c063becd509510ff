// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One verdict of all ranks. A rank that knows of a failure here does not wait for ever for ranks
// that may be stuck inside what failed: after a few seconds it gives up on them.

#include <array>
#include <chrono>
#include <thread>

#include <mpi.h>

namespace ashlar_test {

/// How long ranks wait for the others once they know that something is wrong here.
inline constexpr auto grace = std::chrono::seconds(5);

/// Sums `mine` over the ranks of `comm`. `failed`: whether this rank calls `give_up`, which does not
/// return, if the others do not come within the grace. Communicates: one all-reduce.
template <std::size_t N, class GiveUp>
std::array<int, N> agreed_sum(std::array<int, N> const& mine, MPI_Comm comm, bool failed,
                              GiveUp give_up) {
  std::array<int, N> all{};
  MPI_Request request;
  PMPI_Iallreduce(mine.data(), all.data(), static_cast<int>(N), MPI_INT, MPI_SUM, comm, &request);
  auto const since = std::chrono::steady_clock::now();
  for (int done = 0; PMPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) {
    if (failed && std::chrono::steady_clock::now() - since > grace) give_up();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return all;
}

}  // namespace ashlar_test
