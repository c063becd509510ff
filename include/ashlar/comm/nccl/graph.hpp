// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a mesh's device was given, transfers included, as one thing to do again and again
// (mesh::capture makes it, device/cuda/graph.hpp says what a graph is).
//
//   auto step = mesh.capture([&] { y = matmul(x, w); });   written down, not done
//   step.replay();                                         done: one call of the host
//
//   memory    what was allocated or released meanwhile is the graph's while it lives: its replays work there
//   tensors   made meanwhile hold what the last replay wrote; those that it reads must stay where they are
//   ranks     all capture the same and replay in the same order, as they call collectives
//   watchdog  looks after each replay as one operation: "graph replay 3 of 41 operations"
//   refused   values of the host, waiting (barriers, all-reduces of the host's values), transfers that cross
//             the capture's begin or end
//
// Do the same once before: libraries choose and load on first use, which cannot be captured.

#include <memory>
#include <utility>

#include <ashlar/comm/nccl/communicator.hpp>
#include <ashlar/device/cuda/arena.hpp>
#include <ashlar/device/cuda/graph.hpp>
#include <ashlar/support/exception_watch.hpp>

namespace ashlar::nccl {

class graph {
 public:
  /// Expects: `transport`, `memory` and `compute` are parts of what `mesh` keeps alive.
  template <class Work>
  graph(std::shared_ptr<void> mesh, std::shared_ptr<communicator> transport, cuda::arena& memory,
        cuda::stream& compute, Work const& work)
      : mesh_(std::move(mesh)), transport_(std::move(transport)), memory_(&memory),
        compute_(&compute), ready_(capture(work)) {}
  graph(graph&&) = default;
  graph& operator=(graph&&) = delete;
  ~graph() {
    if (transport_ == nullptr) return;  // moved from
    if (!watch_.is_passing() && !transport_->has_stopped()) cudaStreamSynchronize(*compute_);
    forget();
  }

  /// Does what was captured, in the order of the mesh's stream. Does not wait. Communicates: what was
  /// captured. Throws ashlar::error if the watchdog has stopped the transport.
  void replay() { transport_->launch(ready_, ++replays_, part_.operations); }

  /// Transfers that were captured.
  std::int64_t operations() const { return part_.operations; }

 private:
  template <class Work>
  cuda::graph capture(Work const& work) {
    transport_->begin_capture();
    private_memory_ = memory_->begin_private();
    struct scope {
      graph* made;
      bool is_complete = false;
      ~scope() {
        made->memory_->end_private();
        made->part_ = made->transport_->end_capture();
        if (!is_complete) made->forget();
      }
    } whole{this};
    cuda::capturing writing(*compute_);
    work();
    transport_->join_capture();
    auto made = writing.end();
    whole.is_complete = true;
    return made;
  }

  void forget() {
    memory_->free_private(private_memory_);
    transport_->forget_capture(part_);
  }

  std::shared_ptr<void> mesh_;  // first: goes last
  std::shared_ptr<communicator> transport_;
  cuda::arena* memory_;
  cuda::stream* compute_;
  int private_memory_ = 0;
  communicator::captured_part part_;
  std::uint64_t replays_ = 0;
  exception_watch watch_;
  cuda::graph ready_;
};

}  // namespace ashlar::nccl
