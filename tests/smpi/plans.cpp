// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs redistribution plans, many of them with several steps, between randomly chosen pairs of
// placements of a matrix. The ranks of a node share one link. The simulated time must agree with
// the time of the plan (timed_moves.hpp). The last argument is the approximate number of pairs.
//
// run: node=4,gpu=4 gpu_cluster 256 256 400
// run: node=4,gpu=4 bandwidth 256 256 400
// run: node=2,x=2,gpu=4 gpu_cluster 256 256 300
// run: node=8,gpu=8 gpu_cluster 256 256 200
// thorough: node=32,gpu=8 gpu_cluster 256 256 30

#include <smpi/timed_moves.hpp>

int main(int argc, char** argv) {
  using namespace ashlar_test;
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  ashlar::mesh const m(env.world(), given.topology, given.machine);
  verdict all;
  std::vector<move> moves;
  for (auto const& [from, to] : sampled_pairs(every_placement(2, m.topology()), given.number(2)))
    moves.push_back({from, to});
  auto const timed = time_moves(m, {given.number(0), given.number(1)}, moves, all);
  check_times(timed, m, all);
  return all.exit_code();
}
