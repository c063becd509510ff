// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A point in a stream that others can wait for: what orders the collectives' stream and that of the
// kernels. Without `timed` it costs nothing but the order; two timed ones give milliseconds.

#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>

namespace ashlar::cuda {

class event {
 public:
  explicit event(bool timed = false) {
    check(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
  }
  event(event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  event& operator=(event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~event() {  // a failure here has nobody to go to; the next call reports it
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  cudaEvent_t get() const { return event_; }

  /// Marks the point after all that the stream was given so far.
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }

  /// Whether the stream has come so far; true if it was never recorded.
  bool is_reached() const {
    cudaError_t const status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(status, "cudaEventQuery");
    return true;
  }

  void synchronize() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

  /// Milliseconds from `first` to this one, both timed and reached.
  float since(event const& first) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first.event_, event_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace ashlar::cuda
