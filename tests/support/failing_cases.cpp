// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Cases that must fail, each in a different way. tests/scripts/mpi_harness.sh runs them one at a
// time and checks that the harness reports the failure. They are never registered as tests.

#include <cstdlib>
#include <stdexcept>

#include <doctest/doctest.h>
#include <mpi.h>

static bool on_rank_1() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 1;
}

TEST_CASE("check on one rank") {
  CHECK(!on_rank_1());
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("throw while the others wait") {
  if (on_rank_1()) throw std::runtime_error("thrown by the test");
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("leave while the others go on") { REQUIRE(!on_rank_1()); }

TEST_CASE("never end") {
  if (!on_rank_1()) MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("exit with success") {
  if (on_rank_1()) std::exit(0);
  MPI_Barrier(MPI_COMM_WORLD);
}
