// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Distributes rank 0's unique id (NCCL's) by MPI, and gets the rank on the node from MPI.

#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/nccl/launch.hpp>
#include <ashlar/comm/nccl/unique_id.hpp>

namespace ashlar::nccl {

/// Returns rank 0's `id` on every rank. Collective over `comm`: one broadcast of 128 bytes.
inline unique_id rendezvous_by_mpi(MPI_Comm comm, unique_id id) {
  mpi::check(MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_BYTE, 0, comm));
  return id;
}

/// Returns this process's rank and size in `comm` and its rank on the node. Collective over `comm`.
inline launch launch_from_mpi(MPI_Comm comm) {
  launch l;
  mpi::check(MPI_Comm_rank(comm, &l.rank));
  mpi::check(MPI_Comm_size(comm, &l.size));
  l.by = rendezvous::mpi;
  MPI_Comm node = MPI_COMM_NULL;
  mpi::check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, l.rank, MPI_INFO_NULL, &node));
  mpi::check(MPI_Comm_rank(node, &l.local_rank));
  mpi::check(MPI_Comm_free(&node));
  return l;
}

}  // namespace ashlar::nccl
