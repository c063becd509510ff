// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Determines how ranks are distributed over nodes, for programs that form groups of ranks within a
// node and across nodes. These programs need the same number of ranks on every node, and
// consecutive ranks on each node.

#include <stdexcept>
#include <string>

#include <mpi.h>

namespace ashlar_bench {

/// Returns the number of ranks on each node. Throws on every rank if nodes have different numbers
/// of ranks, or if a node's ranks are not consecutive. `program` is named in the error. Collective.
inline int ranks_per_node(MPI_Comm world, std::string const& program) {
  int rank = 0, on_node = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm node;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  int first = rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  int const uniform[] = {on_node, -on_node, first == rank / on_node * on_node ? 0 : 1};
  int most[3];
  MPI_Allreduce(uniform, most, 3, MPI_INT, MPI_MAX, world);
  if (most[0] != -most[1] || most[2] != 0)
    throw std::runtime_error(program +
                             ": nodes have different numbers of ranks, or their ranks "
                             "are not consecutive. Launch the same number on each node, by slot.");
  return on_node;
}

}  // namespace ashlar_bench
