// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A point in the work of a stream, for which other streams or the host can wait. For example,
// events order the stream of the collectives and the stream of the kernels. A `timed` event records
// the time, so that the milliseconds between two timed events can be measured. Events that are not
// timed are cheaper.

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
  ~event() {  // A destructor cannot throw. The next CUDA call reports a failure.
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  cudaEvent_t get() const { return event_; }

  /// Makes this event the point after all work that has been submitted to the stream so far.
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }

  /// Returns whether the stream has executed all work before the recorded point. Returns true if
  /// the event was never recorded.
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

  /// Returns the milliseconds from the event `first` to this event. Both events must be timed, and
  /// the streams must have reached both events.
  float since(event const& first) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first.event_, event_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace ashlar::cuda
