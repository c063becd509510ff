// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A fake CUDA runtime and a fake NCCL that run on the host, for tests of code that calls CUDA and
// NCCL. They define the functions that ashlar calls (fake_cuda.cpp, fake_nccl.cpp). The linker
// prefers these definitions to the real libraries.
//
//   stream     a thread that executes its work in order, with random pauses, so that a missing wait
//              for another stream leads to wrong results
//   event      a point in a stream
//   graph      the work that was submitted to captured streams, with its dependencies
//              (fake_streams.hpp)
//   memory     host memory, which is filled with garbage when it is allocated and when it is freed
//   rank       a thread of the test program, with its own communicators and streams
//   NCCL       A collective waits in its stream for all members, as on a device. Ranks that issue
//              collectives in different orders wait for each other until their communicators are
//              aborted.
//   machine    the number and the compute capability of the devices, the size of the memory, and
//              the versions of the driver and the libraries. A test can set these properties.

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace fake {

/// Submits work to the stream, whose thread executes it later.
void enqueue(cudaStream_t stream, std::function<void()> work);
/// Sets the longest random pause before each piece of work of a stream, in microseconds. 0 means no
/// pauses.
void pause_up_to(int microseconds);
/// These functions return the numbers of streams, events, memory blocks and graphs that exist. An
/// executable graph counts as a graph. The numbers are 0 when everything has been released.
int live_streams();
int live_events();
int live_blocks();
int live_graphs();
/// calls_for_memory() counts the calls so far that allocate or free device memory. calls_for_work()
/// counts the calls so far that submit work to a stream. Launching a graph counts as one call.
int calls_for_memory();
int calls_for_work();
/// Returns the number of NCCL communicators that exist.
int live_communicators();
/// The properties of the fake machine. Versions are encoded as in CUDA and NCCL. If `driver` is 0,
/// there is no driver. `memory` is the size of the device memory in bytes.
struct machine {
  int devices = 1;
  int driver = CUDART_VERSION, runtime = CUDART_VERSION, nccl = NCCL_VERSION_CODE;
  int compute_capability = 90;
  std::size_t memory = std::numeric_limits<std::size_t>::max();
};
/// Sets the machine for the whole process. At the start of the process the machine is machine{}.
void set_machine(machine const& m);
machine const& fake_machine();
/// Makes the next check of a kernel launch fail with `status`.
void fail_launch(cudaError_t status);
/// One call of ncclSend or ncclRecv by a rank.
struct logged_message {
  bool sends;
  int peer;
  std::size_t bytes;
  int group_depth;  ///< 0 outside of groups
  friend bool operator==(logged_message const&, logged_message const&) = default;
};
/// Returns the messages of rank `rank` on all communicators to which ncclCommSplit gave this name,
/// in the order of the calls, and removes these messages from the log.
std::vector<logged_message> take_messages(std::string const& name, int rank);
/// Makes all communicators of this process report `status` from now on. With ncclSuccess, they
/// report their own status again.
void fail_communicators(ncclResult_t status);
/// Makes the next end of a group of messages fail with `status`.
void fail_group(ncclResult_t status);

}  // namespace fake
