// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Initializes and finalizes MPI, and handles failing ranks. A failing rank prints its error once.
// Then the whole job ends with a non-zero exit status, so that no rank is left waiting.
//
//   ashlar::mpi::environment env(argc, argv);   // first thing in main
//   ashlar::mesh mesh(env.world(), {{"node", 2}, {"gpu", 2}});
//
// Rank 0 prints its error and ends the job at once. Every other rank waits a moment before it
// prints. So if an error occurs on every rank (such as an invalid option), normally only rank 0
// prints it. A program that catches an exception outside the environment's scope must print the
// exception itself. In this case, the other ranks are ended when this rank's program exits.
//
// A child process of a rank (support/fork_watch.hpp) does not call MPI. Its copy of the environment
// does not finalize MPI, and an exception that it does not catch ends the child alone.

#include <cstdio>
#include <cstdlib>
#include <exception>

#include <mpi.h>
#include <unistd.h>

#include <ashlar/comm/watch/membership.hpp>
#include <ashlar/config.hpp>
#include <ashlar/support/fork_watch.hpp>

namespace ashlar::mpi {

/// Prints "[rank r] error: message" and ends the job on all ranks. Does not return. In a process
/// without MPI, prints the message and ends the process.
[[noreturn]] ASHLAR_INLINE void abort(char const* message);

class environment {
 public:
  /// Initializes MPI unless the program has already done so, and installs a terminate handler that
  /// ends the job on an uncaught exception.
  environment(int& argc, char**& argv);
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;
  ~environment();

  MPI_Comm world() const { return MPI_COMM_WORLD; }
  int rank() const;
  int size() const;

 private:
  bool owner_ = false;
  fork_watch fork_;
};

namespace detail {

/// The work of a terminate handler: calls end(text), where `text` is the text of the exception that
/// nobody caught. `end` must end the process.
template <class End>
void end_by_exception(End end) {
  if (auto const current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (std::exception const& e) {
      end(e.what());
    } catch (...) {
      end("the program threw an exception that is not a std::exception");
    }
  }
  end("terminated");
}

}  // namespace detail

#if ASHLAR_DEFINES(COMM)
namespace detail {
/// Says whether this process made the last environment. Its child processes may not call MPI.
inline fork_watch process_of_mpi;
}  // namespace detail

ASHLAR_INLINE void abort(char const* message) {
  int initialized = 0, finalized = 0;
  if (!detail::process_of_mpi.is_in_child()) {
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
  }
  if (!initialized || finalized) {
    std::fprintf(stderr, "%s\n", message);
    std::fflush(stderr);
    std::_Exit(1);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch::membership::leave_all();
  if (rank != 0) usleep(800'000);
  std::fprintf(stderr, "[rank %d] error: %s\n", rank, message);
  std::fflush(stderr);
  usleep(20'000);  // Launchers such as MPICH's may drop output that they read too late.
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

namespace detail {
inline void at_exit() { abort("an exception left the scope of mpi::environment"); }

inline void on_terminate() { end_by_exception(abort); }
}  // namespace detail

ASHLAR_INLINE environment::environment(int& argc, char**& argv) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    owner_ = true;
  }
  detail::process_of_mpi = fork_;
  std::set_terminate(detail::on_terminate);
}

ASHLAR_INLINE environment::~environment() {
  if (!owner_ || fork_.is_in_child()) return;
  // During stack unwinding, MPI_Finalize could hang, because other ranks may wait for messages of
  // this rank.
  if (std::uncaught_exceptions() > 0) std::atexit(detail::at_exit);
  else MPI_Finalize();
}

ASHLAR_INLINE int environment::rank() const {
  int r = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}

ASHLAR_INLINE int environment::size() const {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}
#endif

}  // namespace ashlar::mpi
