// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Shows a matrix product whose operands are redistributed by a plan, and times a redistribution
// that overlaps with another product. Run it on four ranks, if possible on four cores:
//
//   mpirun -n 4 overlap
//
// On the host, no transfer proceeds by itself. While a transfer is pending, a local product lets it
// make progress between strips of rows, and wait() completes it. mesh.communication_seconds()
// counts the time that the program spends in calls for transfers, waiting or copying.

#include <chrono>
#include <iostream>

#include <ashlar/ashlar.hpp>

using namespace ashlar::placements;  // S<dim>, B, P

/// Prints how long `work` takes on rank 0, and how much of that time rank 0 spends on transfers.
template <class Work>
void time(char const* name, ashlar::mesh const& mesh, Work work) {
  mesh.barrier();
  double const waited = mesh.communication_seconds();
  auto const start = std::chrono::steady_clock::now();
  work();
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
  if (mesh.rank() == 0)
    std::cout << name << ": " << seconds.count() * 1e3 << " ms, of which "
              << (mesh.communication_seconds() - waited) * 1e3 << " ms waiting\n";
}

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  ashlar::mesh mesh(env.world(), {{"node", 2}, {"gpu", 2}});
  using blocks = ashlar::sbp<S<0>, S<1>>;
  using whole = ashlar::sbp<B, B>;

  auto x = ashlar::normal<float>(mesh, {2048, 2048}, blocks{}, {.seed = 1});
  auto w = ashlar::normal<float>(mesh, {2048, 2048}, blocks{}, {.seed = 2});
  auto y = ashlar::matmul<blocks>(x, w);
  if (mesh.rank() == 0)
    std::cout << ashlar::plan_matmul(x, w, blocks{}) << ashlar::plan_redistribution(y, whole{});

  auto u = x | ashlar::to<S<0>, B>;
  auto v = w | ashlar::to<B, S<1>>;
  for (int turn = 0; turn < 3; ++turn) {  // turn 0 makes the plan and touches new memory
    time("one after the other", mesh, [&] {
      auto product = ashlar::matmul(u, v);
      auto z = ashlar::redistribute(y, whole{});
    });
    time("together", mesh, [&] {
      auto moving = ashlar::redistribute_async(y, whole{});
      auto product = ashlar::matmul(u, v);
      auto z = moving.wait();
    });
  }
}
