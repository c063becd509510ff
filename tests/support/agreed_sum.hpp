// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// An all-reduce with a time limit, for the results of a test case. If a case fails on one rank, the
// other ranks may still wait inside the case for a message from that rank. Those ranks then never
// reach the all-reduce. A rank on which the case failed therefore stops waiting after a few
// seconds.

#include <array>
#include <chrono>
#include <thread>

#include <mpi.h>

namespace ashlar_test {

/// The time for which agreed_sum() waits for the other ranks, on a rank where the case failed.
inline constexpr auto grace = std::chrono::seconds(5);

/// Returns the sums of `mine` over the ranks of `comm`. If `failed` is true and the other ranks do
/// not join within `grace`, calls `give_up`, which must not return. Communicates: one all-reduce.
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
