// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A CUDA stream: a queue of device work that is executed in order. The stream does not synchronize
// with the default stream. An event orders the work of two streams. The kernels of an `urgent`
// stream are scheduled first when a multiprocessor becomes free. Collectives that run beside long
// matrix products should use an urgent stream.

#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>
#include <ashlar/device/cuda/event.hpp>

namespace ashlar::cuda {

class stream {
 public:
  explicit stream(bool urgent = false) {
    int least = 0;
    int most = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &most), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? most : least),
          "cudaStreamCreateWithPriority");
  }
  stream(stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  stream& operator=(stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~stream() {  // Work that was already submitted still runs.
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  cudaStream_t get() const { return stream_; }
  operator cudaStream_t() const { return stream_; }

  /// Makes all work that is submitted to this stream from now on wait for the event. The host does
  /// not wait.
  void wait(event const& reached) {
    check(cudaStreamWaitEvent(stream_, reached.get(), 0), "cudaStreamWaitEvent");
  }

  /// Makes the host wait for all work of this stream. Throws ashlar::error if a kernel or copy
  /// failed.
  void synchronize() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace ashlar::cuda
