// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A point in a stream for which other streams or the host can wait. Events order the stream of the
// collectives and the stream of the kernels. Two `timed` events measure the milliseconds between
// them; other events are cheaper, because they record no time.

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
  ~event() {  // an error cannot be thrown here; the next call reports it
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  cudaEvent_t get() const { return event_; }

  /// Marks the point after all work submitted to the stream so far.
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }

  /// Returns whether the stream has reached the point; true if the event was never recorded.
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

  /// Returns the milliseconds from `first` to this event. Both must be timed and reached.
  float since(event const& first) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first.event_, event_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace ashlar::cuda
