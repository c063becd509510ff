// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// CUDA graphs: the work of a stream is recorded once and then replayed. A replay takes the host one
// call, instead of one for each kernel, copy and collective.
//
//   capturing c(stream);      from here on, work submitted to the stream is recorded, not executed
//   …
//   graph g = c.end();
//   g.launch(stream);         executes the graph in the order of the stream; may be repeated
//
// A replay uses the addresses, extents and scalar arguments of the capture. It reads the values
// that memory has at the time of the replay. The graph does not own this memory. The user of the
// graph must not release the memory while the graph exists (arena.hpp ensures this for graphs of
// training steps).

#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/capture.hpp>

namespace ashlar::cuda {

class graph {
 public:
  /// Makes an executable graph from a captured one. Throws ashlar::error if the driver cannot make
  /// the executable graph.
  explicit graph(cudaGraph_t captured) {
    check(cudaGraphInstantiate(&ready_, captured, 0), "cudaGraphInstantiate");
  }
  graph(graph&& other) noexcept : ready_(std::exchange(other.ready_, nullptr)) {}
  graph& operator=(graph&& other) noexcept {
    std::swap(ready_, other.ready_);
    return *this;
  }
  ~graph() {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);
  }

  void launch(cudaStream_t stream) { check(cudaGraphLaunch(ready_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t ready_ = nullptr;
};

/// Captures the work of a stream from the construction of this object to end(). If the object is
/// destroyed before end(), the captured work is discarded.
class capturing {
 public:
  explicit capturing(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
  }
  capturing(capturing const&) = delete;
  capturing& operator=(capturing const&) = delete;
  ~capturing() {
    if (stream_ == nullptr) return;
    cudaGraph_t dropped = nullptr;
    cudaStreamEndCapture(stream_, &dropped);
    if (dropped != nullptr) cudaGraphDestroy(dropped);
    // The call that failed during the capture has already reported its error. Clear the error, so
    // that no later call reports it again.
    cudaGetLastError();
  }

  /// Ends the capture and returns the graph. Throws ashlar::error if an operation could not be
  /// captured. Also throws if another stream took part in the capture and the captured stream does
  /// not wait for the work of that stream.
  graph end() {
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(std::exchange(stream_, nullptr), &captured), "cudaStreamEndCapture");
    struct guard {
      cudaGraph_t plan;
      ~guard() { cudaGraphDestroy(plan); }
    } const drop{captured};
    return graph(captured);
  }

 private:
  cudaStream_t stream_;
};

}  // namespace ashlar::cuda
