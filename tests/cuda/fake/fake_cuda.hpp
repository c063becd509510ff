// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A CUDA runtime and an NCCL that are fake on the host, for tests of what issues to them: the functions
// that ashlar calls, defined by a test program (fake_cuda.cpp, fake_nccl.cpp) before the libraries'.
//
//   a stream   is a thread that runs what it is given in order; with pauses, so that what another stream
//              should have waited for is seen
//   an event   is a point in a stream
//   a graph    is what streams were given while they were captured, and what comes after what in it
//              (fake_streams.hpp)
//   memory     is the host's, full of garbage when given out and when freed
//   a rank     is a thread of the program, with communicators and streams of its own
//   NCCL       collectives wait on their stream for all members, as on a device: ranks that issue in
//              different orders wait for each other, until their communicators are aborted
//   a machine  has as many devices, as much memory and as old a driver as a test says

#include <cstddef>
#include <functional>
#include <limits>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace fake {

/// Runs later, on the stream's thread.
void enqueue(cudaStream_t stream, std::function<void()> work);
/// Pauses of up to so many microseconds before each piece of work; 0: none.
void pause_up_to(int microseconds);
/// What is still there: 0 if all was given back.
int live_streams();
int live_events();
int live_blocks();
int live_graphs();
/// Calls so far that ask the driver for memory or give some back; that give a stream something to do, a
/// graph counted once.
int calls_for_memory();
int calls_for_work();
int live_communicators();
/// What is there: versions as CUDA and NCCL number them, 0 for no driver; bytes of device memory.
struct machine {
  int devices = 1;
  int driver = CUDART_VERSION, runtime = CUDART_VERSION, nccl = NCCL_VERSION_CODE;
  int compute_capability = 90;
  std::size_t memory = std::numeric_limits<std::size_t>::max();
};
/// From now on, in the whole process; machine{} at first.
void set_machine(machine const& m);
machine const& fake_machine();
/// The next launch of a kernel that is asked after fails so.
void fail_launch(cudaError_t status);
/// Makes the communicators of this process report `status` from now on; ncclSuccess: none.
void fail_communicators(ncclResult_t status);

}  // namespace fake
