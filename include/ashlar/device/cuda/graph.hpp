// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Work of a stream, written down once and done again as a whole: one call of the host in place of one for
// each kernel, copy and collective.
//
//   capturing c(stream);      what the stream is given from here on is written down
//   …
//   graph g = c.end();
//   g.launch(stream);         does it, in the stream's order; as often as wanted
//
// Addresses, extents and numbers are those of the capture; what is at the addresses is read at each launch.
// The memory is whoever's captured it (arena.hpp keeps it for the graph).

#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/capture.hpp>

namespace ashlar::cuda {

class graph {
 public:
  /// Of what was captured. Throws ashlar::error where the driver cannot make it.
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

/// A capture under way; dropping it forgets what was captured.
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
    cudaGetLastError();  // of what made the capture invalid: reported where it was called
  }

  /// Throws ashlar::error if something could not be captured, or another stream was not joined again.
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
