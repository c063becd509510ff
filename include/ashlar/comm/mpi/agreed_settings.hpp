// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes all ranks of a mesh use the same shared-memory settings, although the environment variables
// may differ between nodes:
//
//   all settings are valid   rank 0's settings apply to all ranks
//   some are invalid         all ranks throw the error of the first rank with invalid settings,
//                            before any other collective call

#include <cstdint>
#include <string>

#include <mpi.h>

#include <ashlar/comm/fault_of.hpp>
#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/shared/settings.hpp>

namespace ashlar::mpi {

namespace detail {

inline std::string fault_of(shared::settings const& s) {
  if (!s.fault.empty()) return s.fault;
  bool const is_size = s.bytes_per_rank >= 0 && s.bytes_per_rank <= shared::most_bytes;
  if (is_size || s.bytes_per_rank == shared::settings::automatic) return "";
  return "the requested shared memory is " + std::to_string(s.bytes_per_rank) + " bytes per rank";
}

}  // namespace detail

/// Throws ashlar::error on every rank if `fault` is not empty on any rank. The error names the
/// first such rank and has its `fault`. Collective over `comm`: an all-reduce of 4 bytes, and two
/// broadcasts before an error.
inline void refuse_together(std::string const& fault, MPI_Comm comm) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int most = fault.empty() ? 0 : ranks - rank;
  check(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm));
  if (most == 0) return;
  int const first = ranks - most;
  throw_fault_of(first, "mesh", fault, [&](auto values) {
    check(MPI_Bcast(values.data(), static_cast<int>(values.size_bytes()), MPI_BYTE, first, comm));
  });
}

/// Returns the shared-memory settings for all ranks. Collective over `comm`: an all-reduce of 4
/// bytes and a broadcast of 16 bytes. Throws the same ashlar::error on every rank if the settings
/// of any rank are invalid.
inline shared::settings agreed_settings(shared::settings const& mine, MPI_Comm comm) {
  std::string fault = detail::fault_of(mine);
  if (!fault.empty())
    fault += ". Give off, or bytes per rank such as 512MiB or 4GiB; at most 64TiB.";
  refuse_together(fault, comm);
  std::int64_t first[] = {mine.bytes_per_rank, mine.ranks_per_node};
  check(MPI_Bcast(first, 2, MPI_INT64_T, 0, comm));
  return {first[0], static_cast<int>(first[1]), ""};
}

}  // namespace ashlar::mpi
