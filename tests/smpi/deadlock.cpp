// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Causes a deadlock: one rank waits for a message that nobody sends, while the others redistribute
// a tensor. simulate.sh must report the deadlock, because smpirun itself exits with 0.
//
// run: a=4 workstation
// expect: deadlock

#include <smpi/simulated.hpp>

int main(int argc, char** argv) {
  using namespace ashlar_test;
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  ashlar::mesh const m(env.world(), given.topology, given.machine);
  auto const x = numbered(m, {8, 8}, ashlar::parse_placement("S(0)"));
  if (m.rank() != 1) redistribute(x, ashlar::parse_placement("B"));
  else MPI_Recv(nullptr, 0, MPI_INT, 0, 0, env.world(), MPI_STATUS_IGNORE);
  return 0;
}
