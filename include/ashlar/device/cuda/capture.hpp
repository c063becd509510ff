// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writing down what a stream is given instead of doing it: the making of a graph (graph.hpp).
//
//   while a stream is captured   it and those that an event makes follow it run nothing
//   may not be                   waiting for the device, asking after events, values of the host (their
//                                place would be read again by every replay), memory in the stream's order
//   other threads                go on as ever: the capture is this thread's
//
// What may not be is refused with a sentence before CUDA sees it, where ashlar itself would call it.

#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>

namespace ashlar::cuda {

inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

/// Throws ashlar::error if `operation` comes while the stream is captured; `why` it cannot.
inline void refuse_if_capturing(cudaStream_t stream, char const* operation, char const* why) {
  if (is_capturing(stream))
    throw error(operation, std::string("a CUDA graph is being captured, and ") + why +
                               " Do it before or after the captured part.");
}

/// What this thread may call while it captures, as long as this lives.
class capture_mode {
 public:
  explicit capture_mode(cudaStreamCaptureMode wanted) : mode_(wanted) {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  }
  capture_mode(capture_mode const&) = delete;
  capture_mode& operator=(capture_mode const&) = delete;
  ~capture_mode() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_;
};

}  // namespace ashlar::cuda
