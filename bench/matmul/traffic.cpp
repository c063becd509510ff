// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "traffic.hpp"

#include "support/mpi_traffic_calls.hpp"

namespace ashlar_bench {

received count_received(MPI_Comm comm, std::function<void()> const& run) {
  using ashlar_test::mpi_traffic;
  MPI_Barrier(comm);
  mpi_traffic::listen();
  run();
  mpi_traffic::stop();
  // mine[0] counts the received bytes, mine[1] the calls whose bytes cannot be counted.
  std::int64_t mine[2] = {0, 0};
  for (auto const& call : mpi_traffic::calls)
    if (call.received_bytes == mpi_traffic::uncounted) ++mine[1];
    else mine[0] += call.received_bytes;
  std::int64_t most[2] = {0, 0};
  PMPI_Allreduce(mine, most, 2, MPI_INT64_T, MPI_MAX, comm);
  return {most[0], most[1] == 0};
}

}  // namespace ashlar_bench
