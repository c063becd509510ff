// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Helpers for the capture of CUDA graphs (graph.hpp). During a capture, work that is submitted to a
// stream is recorded instead of executed.
//
//   during a capture   the captured stream executes nothing; a stream that waits for an event of
//                      the captured stream executes nothing either
//   forbidden          waiting for the device, querying events, copying host values (every replay
//                      would read them again from the same address), stream-ordered allocation
//   other threads      are not affected: only the thread that captures is restricted
//
// Where ashlar itself would make a forbidden call, it throws an error that explains the reason.

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

/// Throws ashlar::error if the stream is being captured. `operation` is the name of the forbidden
/// operation, and `why` the reason, for the error message.
inline void refuse_if_capturing(cudaStream_t stream, char const* operation, char const* why) {
  if (is_capturing(stream))
    throw error(operation, std::string("a CUDA graph is being captured, and ") + why +
                               " Call this function before or after the capture.");
}

/// Sets which CUDA calls this thread may make during a capture, for the lifetime of this object.
/// The destructor restores the previous setting.
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
