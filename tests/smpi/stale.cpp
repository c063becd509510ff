// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the letters of a stale training (comm/stale_exchange.hpp) on a simulated cluster. In each
// step one rank, drawn at random, takes three times as long as the others to compute. With a
// staleness of 0, all ranks wait for it in each step. With a staleness of 4, the training must be
// at least 1.5 times as fast. No read may miss a gradient that the staleness requires.
//
// run: gpu=8 workstation
// run: node=4,gpu=2 workstation

#include <algorithm>
#include <random>

#include <smpi/simulated.hpp>
#include <support/mailed_worker.hpp>

namespace {

using namespace ashlar_test;

/// Takes 100 simulated microseconds.
void work_a_little() {
  timespec const piece{0, 100'000};
  nanosleep(&piece, nullptr);
}

/// Returns the simulated seconds of a training on the slowest rank.
double seconds_of_training(ashlar::mesh const& m, int staleness, verdict& all) {
  constexpr int steps = 20, pieces = 10;  // a step computes for a millisecond
  worker_with_mail own(m, staleness, work_a_little);
  double const mine = simulated_seconds([&] {
    for (int step = 0; step < steps; ++step) {
      own.worker.begin_step(step, [&] { own.serve(); });
      std::mt19937 random(static_cast<unsigned>(step));
      bool const stalls = static_cast<int>(random() % unsigned(m.ranks())) == m.rank();
      for (int n = stalls ? 3 * pieces : pieces; n > 0; --n) own.serve();
      own.worker.end_step(step);
    }
    own.settle(steps);
  });
  auto const& found = own.worker.counts;
  all.check(found.torn == 0, "values are torn");
  all.check(found.too_old == 0, "values are too old");
  all.check(found.unsettled == 0, "values miss gradients at the end");
  all.check(found.reads == steps * m.ranks(), "reads are missing");
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  ashlar::mesh const m(env.world(), given.topology, given.machine);
  verdict all;
  double const waiting = seconds_of_training(m, 0, all);
  for (int const staleness : {1, 4}) {
    double const stale = seconds_of_training(m, staleness, all);
    if (m.rank() == 0)
      std::printf("staleness 0: %.1f ms, %d: %.1f ms, %.2f times as fast\n", 1e3 * waiting,
                  staleness, 1e3 * stale, waiting / stale);
    if (staleness == 4) all.check(waiting >= 1.5 * stale, "a staleness of 4 gains too little");
  }
  return all.exit_code();
}
