// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The resources of a rank for crossings between parts of its mesh: a stream, scratch memory, and a
// communicator of all ranks of the mesh. Blocks of the memory are reused in the stream's order.
// Operations of this communicator may run at the same time as operations of other communicators, so
// this communicator shares no buffers with them. NCCL connects two ranks when the first message
// goes from one to the other.

#include <ashlar/comm/nccl/handle.hpp>
#include <ashlar/device/cuda/arena.hpp>
#include <ashlar/device/cuda/pool.hpp>
#include <ashlar/device/cuda/stream.hpp>

namespace ashlar::nccl {

class crossing_lane {
 public:
  /// `all` is the communicator of all ranks of the mesh, in which this rank has number `rank`.
  /// Collective over the mesh. `memory` must outlive this object.
  crossing_lane(handle& all, int rank, cuda::pool& memory)
      : stream_(true), memory_(memory, stream_), comm_(all, 0, rank, "crossings", true) {}

  handle& comm() { return comm_; }
  cuda::stream& stream() { return stream_; }
  cuda::arena& memory() { return memory_; }

 private:
  cuda::stream stream_;
  cuda::arena memory_;
  handle comm_;
};

}  // namespace ashlar::nccl
