// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Initializes and ends the GPU ranks of a program, with or without MPI (launch.hpp), and handles
// failures. A failing rank prints its error, and its process ends with a non-zero exit status.
//
//   ashlar::nccl::environment env(argc, argv);   // first thing in main
//   env.world()                                  // argument for a mesh
//
// The constructor determines, in this order:
//
//   1  rank and size: from MPI if the program has initialized it or MPI is the launcher; otherwise
//      from the launcher's variables
//   2  whether NCCL's version is usable
//   3  the device: the only one that this process sees, or the one with the rank's number on its
//      node
//   4  the unique id, which rank 0 sends to all ranks, and the communicator of all ranks
//
// If a rank fails, MPI or the launcher ends the job (mpirun, torchrun and srun --kill-on-bad-exit
// do). Otherwise the other ranks notice broken connections of NCCL or the timeout (watchdog.hpp).

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/comm/nccl/rendezvous_file.hpp>
#include <ashlar/comm/nccl/rendezvous_mpi.hpp>
#include <ashlar/comm/nccl/rendezvous_tcp.hpp>
#include <ashlar/comm/nccl/world.hpp>
#include <ashlar/comm/watch/membership.hpp>
#include <ashlar/device/cuda/device.hpp>

namespace ashlar::nccl {
namespace detail {

inline int rank_of_process = -1;  // this rank for error messages, or -1 if it is not known yet

[[noreturn]] inline void end_process(char const* message) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized) mpi::abort(message);
  watch::membership::leave_all();
  if (rank_of_process < 0) std::fprintf(stderr, "error: %s\n", message);
  else std::fprintf(stderr, "[rank %d] error: %s\n", rank_of_process, message);
  std::fflush(stderr);
  std::_Exit(1);
}

inline void on_terminate() { mpi::detail::end_by_exception(end_process); }

/// Selects the rank's device for this thread and returns its number.
inline int select_device(launch const& here) {
  int const devices = cuda::count();
  bool const shares = std::getenv("NCCL_HOSTID") != nullptr;
  if (auto const fault = device_fault(here.local_rank, devices, shares); !fault.empty())
    throw error("nccl::environment", "rank " + std::to_string(here.rank) + ": " + fault);
  int const device = here.local_rank % devices;
  cuda::select(device);
  return device;
}

}  // namespace detail

class environment {
 public:
  /// Collective over all ranks of the program. Throws ashlar::error in these cases:
  /// - A rank has no device.
  /// - The ranks do not find each other within ASHLAR_NCCL_TIMEOUT.
  /// - The driver or NCCL is too old.
  /// - An environment variable is missing or wrong, or MPI and the launcher give different sizes.
  environment(int& argc, char**& argv) {
    std::set_terminate(detail::on_terminate);
    // This variable keeps NCCL from registering our arrays during a capture. Registration requires
    // a kind of memory that a CUDA pool does not provide. The variable is set before MPI starts
    // threads, because no thread may read the environment while another one changes it.
    ::setenv("NCCL_GRAPH_REGISTER", "0", 0);
    int is_on_mpi = 0;
    MPI_Initialized(&is_on_mpi);
    if (is_on_mpi) world_.here.by = rendezvous::mpi;
    else world_.here = launch_from_environment();
    world_.deadline = timeout_from_environment();
    world_.watching = watch::settings_from_environment();
    world_.watching.timeout *= 10;  // the reason is in watchdog.hpp
    world_.end_process = detail::end_process;
    detail::rank_of_process = world_.here.rank;
    if (world_.here.by == rendezvous::mpi) {
      int const said = world_.here.size;
      mpi_.emplace(argc, argv);
      std::set_terminate(detail::on_terminate);
      take_place_in_mpi(is_on_mpi ? 0 : said);
    }
    check_version();
    world_.device = detail::select_device(world_.here);
    unique_id const id = shared_id();
    world_.all = std::make_shared<handle>(id, world_.here.rank, world_.here.size, world_.deadline);
  }
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;
  ~environment() {
    if (std::uncaught_exceptions() == 0) {
      watch::membership::leave_all();  // the program may never destroy some of its meshes
      return;
    }
    // An exception unwinds the stack of this rank, so other ranks may never finalize. So the
    // destructor aborts the communicator instead of waiting for the other ranks.
    if (world_.all != nullptr)
      world_.all->abort("An exception left the scope of nccl::environment.");
  }

  nccl::world const& world() const { return world_; }
  int rank() const { return world_.here.rank; }
  int size() const { return world_.here.size; }

 private:
  /// Gets rank and size from MPI. `said` is the number of ranks in the launcher's variables, or 0
  /// if they were not read.
  void take_place_in_mpi(int said) {
    std::string const job = world_.here.job;
    world_.here = launch_from_mpi(MPI_COMM_WORLD);
    world_.here.job = job;
    if (said != 0 && said != world_.here.size)
      throw error("nccl::environment",
                  "the launcher started " + std::to_string(said) + " ranks, but MPI reports " +
                      std::to_string(world_.here.size) +
                      ": this program's MPI is not the launcher's. Start it with the mpirun of its "
                      "MPI, or set ASHLAR_LAUNCH to env or slurm to do without MPI.");
  }

  unique_id shared_id() const {
    launch const& here = world_.here;
    unique_id id{};
    if (here.rank == 0) {
      ncclUniqueId bytes;
      check(ncclGetUniqueId(&bytes), {0, "", "ncclGetUniqueId"});
      std::memcpy(id.data(), &bytes, id.size());
    }
    switch (here.by) {
      case rendezvous::mpi: return rendezvous_by_mpi(MPI_COMM_WORLD, id);
      case rendezvous::tcp: return rendezvous_by_tcp(here, id, world_.deadline);
      case rendezvous::file: return rendezvous_by_file(here, id, world_.deadline);
      default: return id;
    }
  }

  std::optional<mpi::environment> mpi_;  // first, so that MPI ends after NCCL
  nccl::world world_;
};

}  // namespace ashlar::nccl
