// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operations that were given to the device and may not have ended. A CUDA event follows each
// operation. All operations are on one stream, so they end in the order of their numbers. The
// program's thread and the watchdog's thread both query the events. Events are reused.

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <ashlar/device/cuda/event.hpp>
#include <ashlar/device/cuda/stream.hpp>

namespace ashlar::nccl {

class in_flight {
 public:
  /// Adds operation `number`, the last one on `stream` so far. If `follower` is given, makes that
  /// stream wait for the operation's end.
  void add(std::uint64_t number, cuda::stream& stream, cuda::stream* follower) {
    std::lock_guard const lock(mutex_);
    if (spare_.empty()) spare_.emplace_back();
    spare_.back().record(stream);
    if (follower != nullptr) follower->wait(spare_.back());
    flying_.push_back({number, std::move(spare_.back())});
    spare_.pop_back();
  }

  /// Makes `stream` wait for the end of operation `number`, unless the operation is already known
  /// to have ended.
  void follow(std::uint64_t number, cuda::stream& stream) {
    std::lock_guard const lock(mutex_);
    auto const at = std::lower_bound(
        flying_.begin(), flying_.end(), number,
        [](operation const& o, std::uint64_t wanted) { return o.number < wanted; });
    if (at != flying_.end()) stream.wait(at->end);
  }
  /// Discards all operations. Called at the end of a capture, because the events of a capture
  /// cannot be queried.
  void forget() {
    std::lock_guard const lock(mutex_);
    for (auto& o : flying_) spare_.push_back(std::move(o.end));
    flying_.clear();
  }

  /// Returns the number of the last operation that has ended, or 0.
  std::uint64_t last_ended() {
    std::lock_guard const lock(mutex_);
    while (!flying_.empty() && fault_.empty()) {
      cudaError_t const status = cudaEventQuery(flying_.front().end.get());
      if (status == cudaErrorNotReady) break;
      if (status != cudaSuccess) {
        fault_ = "a kernel or copy failed: " + cuda::explain(status) + ".";
        break;
      }
      last_ended_ = flying_.front().number;
      spare_.push_back(std::move(flying_.front().end));
      flying_.pop_front();
    }
    return last_ended_;
  }
  bool has_ended(std::uint64_t number) { return last_ended() >= number; }

  /// Returns the device's error, or an empty string if there is none.
  std::string fault() const {
    std::lock_guard const lock(mutex_);
    return fault_;
  }

 private:
  struct operation {
    std::uint64_t number;
    cuda::event end;
  };
  std::deque<operation> flying_;
  std::vector<cuda::event> spare_;
  std::uint64_t last_ended_ = 0;
  std::string fault_;
  mutable std::mutex mutex_;
};

}  // namespace ashlar::nccl
