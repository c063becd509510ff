// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A program that fails in the way that its argument names, for tests/scripts/failing_rank.sh:
//
//   mesh     tries to create a mesh of 12 ranks, although the job has fewer ranks
//   one      the last rank throws while the other ranks wait for it in a collective
//   all      every rank throws the same exception
//   foreign  the last rank throws an object that is not a std::exception
//   caught   the last rank's exception leaves the environment's scope and is caught by main
//   no_mpi   makes a mesh without an environment
//   none     nothing fails
//   kept     nothing fails: no rank destroys its mesh, and the last rank exits before the others

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include <ashlar/tensor.hpp>

namespace {

using namespace ashlar::placements;

void work(ashlar::mpi::environment const& env, std::string const& how) {
  ashlar::mesh const m(env.world(), {{"gpu", how == "mesh" ? 12 : env.size()}});
  auto const x = ashlar::full<float>(m, {64, 64}, ashlar::sbp<S<0>>{}, 1);
  bool const last = env.rank() == env.size() - 1;
  if (how == "all") throw std::runtime_error("no rank can go on");
  if (how == "foreign" && last) throw 42;
  if ((how == "one" || how == "caught") && last)
    throw ashlar::error("work", "disk full on this rank only");
  auto const y = x | ashlar::to<B>;
  m.barrier();
  std::printf("done %g\n", double(y.data()[0]));
}

/// Works on a mesh that is never destroyed. After the end of MPI, all ranks but the last one go on.
void keep_mesh(int& argc, char**& argv) {
  bool last = false;
  {
    ashlar::mpi::environment const env(argc, argv);
    static auto const* const kept = new ashlar::mesh(env.world(), {{"gpu", env.size()}});
    kept->barrier();
    last = env.rank() == env.size() - 1;
  }
  if (!last) std::this_thread::sleep_for(std::chrono::milliseconds(800));
  std::printf("done 1\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::string const how = argc > 1 ? argv[1] : "none";
  if (how == "no_mpi") {
    try {
      ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", 1}});
    } catch (std::exception const& e) {
      std::fprintf(stderr, "main says: %s\n", e.what());
    }
    return 1;
  }
  if (how == "kept") {
    keep_mesh(argc, argv);
    return 0;
  }
  if (how != "caught") {
    ashlar::mpi::environment env(argc, argv);
    work(env, how);
    return 0;
  }
  try {
    ashlar::mpi::environment env(argc, argv);
    work(env, how);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "main says: %s\n", e.what());
  }
  return 0;
}
