// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Redistributes a matrix between randomly chosen pairs of placements, with uneven or empty shards.
// Nothing may deadlock, and the values must be right. Every fourth redistribution overlaps with
// another one. The last argument is the approximate number of pairs. There are 8464 pairs on three
// axes, so 9000 selects all of them.
//
// run: a=4,b=4 workstation 11 13 400
// run: node=4,gpu=4 bandwidth 3 17 400
// run: node=2,x=2,gpu=4 bandwidth 13 11 400
// run: a=4,b=4,c=4 workstation 67 13 250
// run: node=3,x=5,gpu=7 bandwidth 37 41 60
// thorough: a=16,b=16 workstation 37 19 30

#include <smpi/simulated.hpp>

int main(int argc, char** argv) {
  using namespace ashlar_test;
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  ashlar::mesh const m(env.world(), given.topology, given.machine);
  ashlar::shape const extents{given.number(0), given.number(1)};
  verdict all;
  int tried = 0;
  for (auto const& [from, to] : sampled_pairs(every_placement(2, m.topology()), given.number(2))) {
    m.plans().clear();  // frees thousands of plans per rank
    auto const x = numbered(m, extents, from);
    if (++tried % 4 == 0) {
      auto moving = redistribute_async(x, to);
      all.check(is_numbered(redistribute(x, to)), "while another is pending: " + to_string(to));
      all.check(is_numbered(moving.wait()), "asynchronous: " + to_string(from));
      continue;
    }
    auto const y = redistribute(x, to);
    all.check(is_numbered(y), to_string(from) + " -> " + to_string(to));
  }
  return all.exit_code();
}
