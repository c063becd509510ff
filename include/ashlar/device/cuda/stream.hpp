// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A queue of device work, in order. Streams of this class do not wait for the default stream, nor it
// for them; order between two is made by an event. `urgent` gives its kernels precedence where a
// multiprocessor comes free: for collectives beside long products.

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
  ~stream() {  // what it was given is still done
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  cudaStream_t get() const { return stream_; }
  operator cudaStream_t() const { return stream_; }

  /// Whatever comes next runs after the event; the host does not wait.
  void wait(event const& reached) {
    check(cudaStreamWaitEvent(stream_, reached.get(), 0), "cudaStreamWaitEvent");
  }

  /// The host waits until all is done. Throws what a kernel or copy failed with.
  void synchronize() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace ashlar::cuda
