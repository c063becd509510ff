// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A captured sequence of device work, including transfers, that can be replayed. mesh::capture
// creates it. device/cuda/graph.hpp describes the underlying CUDA graph.
//
//   auto step = mesh.capture([&] { y = matmul(x, w); });   captures the work without running it
//   step.replay();                                         runs it with one call from the host
//
//   memory    Blocks allocated or released during the capture belong to the graph while it exists,
//             because its replays use them.
//   tensors   A tensor made during the capture contains the result of the last replay. A tensor
//             that the work reads must keep its address.
//   ranks     All ranks must capture the same work and replay in the same order.
//   watchdog  The watchdog treats each replay as one operation: "a replay of a graph".
//   errors    A capture throws if the work uses host values or waits (barriers, all-reduces of host
//             values), or if only the start or only the end of a transfer is inside the capture.
//
// Run the same work once before the capture. On first use, libraries select algorithms and load
// modules, which cannot be captured.

#include <memory>
#include <utility>

#include <ashlar/comm/nccl/device_queue.hpp>
#include <ashlar/device/cuda/arena.hpp>
#include <ashlar/device/cuda/graph.hpp>
#include <ashlar/support/exception_watch.hpp>

namespace ashlar::nccl {

class graph {
 public:
  /// Captures `work`. `mesh` must keep `transfers`, `memory` and `compute` alive.
  template <class Work>
  graph(std::shared_ptr<void> mesh, std::shared_ptr<device_queue> transfers, cuda::arena& memory,
        cuda::stream& compute, Work const& work)
      : mesh_(std::move(mesh)), transfers_(std::move(transfers)), memory_(&memory),
        compute_(&compute), ready_(capture(work)) {}
  graph(graph&&) = default;
  graph& operator=(graph&&) = delete;
  ~graph() {
    if (transfers_ == nullptr) return;  // moved from
    if (!watch_.is_passing() && !transfers_->has_stopped()) cudaStreamSynchronize(*compute_);
    forget();
  }

  /// Runs the captured work, including its transfers, in the order of the mesh's stream. Does not
  /// wait. Collective over the mesh. Throws ashlar::error if the watchdog has stopped the
  /// transport.
  void replay() { transfers_->launch(ready_); }

  /// Returns the number of captured transfers.
  std::int64_t operations() const { return part_.operations; }

 private:
  template <class Work>
  cuda::graph capture(Work const& work) {
    transfers_->begin_capture();
    private_memory_ = memory_->begin_private();
    struct scope {
      graph* made;
      bool is_complete = false;
      ~scope() {
        made->memory_->end_private();
        made->part_ = made->transfers_->end_capture();
        if (!is_complete) made->forget();
      }
    } whole{this};
    cuda::capturing writing(*compute_);
    work();
    transfers_->join_capture();
    auto made = writing.end();
    whole.is_complete = true;
    return made;
  }

  void forget() {
    memory_->free_private(private_memory_);
    transfers_->forget_capture(part_);
  }

  std::shared_ptr<void> mesh_;  // first, so that it is destroyed last
  std::shared_ptr<device_queue> transfers_;
  cuda::arena* memory_;
  cuda::stream* compute_;
  int private_memory_ = 0;
  device_queue::captured_part part_;
  exception_watch watch_;
  cuda::graph ready_;
};

}  // namespace ashlar::nccl
