// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The file with a table of algorithms. algorithm_text.hpp describes the format of the file. If the
// environment variable ASHLAR_COLLECTIVES names a file, the table in this file replaces the default
// table. When a whole mesh is created, its first rank reads the file and broadcasts it, so that all
// ranks have the same table. Parts of the mesh have its table too.

#include <cstdlib>
#include <fstream>
#include <string>

#include <ashlar/comm/mpi/algorithm_text.hpp>
#include <ashlar/comm/mpi/check.hpp>

namespace ashlar::mpi {

/// The largest number of characters that a file of algorithms may have.
inline constexpr std::size_t most_algorithm_text = std::size_t(1) << 20;

/// Returns the table for a mesh on the ranks of `comm`. Collective over `comm`: rank 0 reads the
/// file and broadcasts it. If the file has an error, throws ashlar::error on every rank.
inline algorithm_table algorithms_from_environment(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  std::string name, text;  // an empty name means the default table
  int is_readable = 1;
  if (rank == 0) {
    char const* const variable = std::getenv("ASHLAR_COLLECTIVES");
    if (variable != nullptr) name = variable;
    if (!name.empty()) {
      std::ifstream in(name, std::ios::binary);
      text.resize(most_algorithm_text + 1);
      in.read(text.data(), static_cast<std::streamsize>(text.size()));
      is_readable = in.is_open() && !in.bad() ? 1 : 0;
      text.resize(static_cast<std::size_t>(in.gcount()));
    }
  }
  int head[] = {static_cast<int>(name.size()), static_cast<int>(text.size()), is_readable};
  check(MPI_Bcast(head, 3, MPI_INT, 0, comm));
  if (head[0] == 0) return default_algorithms;
  name.resize(static_cast<std::size_t>(head[0]));
  text.resize(static_cast<std::size_t>(head[1]));
  check(MPI_Bcast(name.data(), head[0], MPI_CHAR, 0, comm));
  if (head[2] == 0)
    throw error("collectives", name + " cannot be read. Make it with bench/tune_collectives, or "
                                      "unset ASHLAR_COLLECTIVES.");
  if (text.size() > most_algorithm_text)
    throw error("collectives", name + " has more than 1 MiB, so it is no table of algorithms.");
  check(MPI_Bcast(text.data(), head[1], MPI_CHAR, 0, comm));
  return parse_algorithms(text, name);
}

}  // namespace ashlar::mpi
