// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A CUDA runtime and an NCCL that are played on the host, for tests of what issues to them: the functions
// that ashlar calls, defined by a test program (played_cuda.cpp, played_nccl.cpp) before the libraries'.
//
//   a stream   is a thread that runs what it is given in order; with pauses, so that what another stream
//              should have waited for is seen
//   an event   is a point in a stream
//   memory     is the host's, full of garbage when given out and when freed
//   a rank     is a thread of the program, with communicators and streams of its own
//   NCCL       collectives wait on their stream for all members, as on a device: ranks that issue in
//              different orders wait for each other, until their communicators are aborted

#include <functional>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace played {

/// Runs later, on the stream's thread.
void enqueue(cudaStream_t stream, std::function<void()> work);
/// Pauses of up to so many microseconds before each piece of work; 0: none.
void pause_up_to(int microseconds);
/// What is still there: 0 if all was given back.
int live_streams();
int live_events();
int live_blocks();
int live_communicators();
/// Makes the communicators of this process report `status` from now on; ncclSuccess: none.
void fail_communicators(ncclResult_t status);

}  // namespace played
