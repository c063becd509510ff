// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operations that were given to the device and may still be running. A CUDA event follows each
// operation. Transfers and crossings are on two streams, so operations need not end in the order of
// their numbers. The program's thread and the watchdog's thread both query the events. Events are
// reused.

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
  /// Adds operation `number`, which must be larger than all earlier numbers. The operation must be
  /// the last one on `stream`. If `follower` is given, makes that stream wait for the operation's
  /// end.
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
    if (auto const* const found = find(number)) stream.wait(found->end);
  }
  /// Discards all operations. Called at the end of a capture, because the events of a capture
  /// cannot be queried.
  void forget() {
    std::lock_guard const lock(mutex_);
    for (auto& o : flying_) spare_.push_back(std::move(o.end));
    flying_.clear();
  }

  /// Returns the largest number up to which all operations have ended, or 0.
  std::uint64_t last_ended() {
    std::lock_guard const lock(mutex_);
    while (!flying_.empty() && has_ended(flying_.front())) {
      last_ended_ = flying_.front().number;
      spare_.push_back(std::move(flying_.front().end));
      flying_.pop_front();
    }
    return last_ended_;
  }
  bool has_ended(std::uint64_t number) {
    if (last_ended() >= number) return true;
    std::lock_guard const lock(mutex_);
    auto const* const found = find(number);
    return found == nullptr ? last_ended_ >= number : has_ended(*found);
  }

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

  /// Returns the operation with this number, or null if it is known to have ended.
  operation const* find(std::uint64_t number) const {
    auto const at = std::lower_bound(
        flying_.begin(), flying_.end(), number,
        [](operation const& o, std::uint64_t wanted) { return o.number < wanted; });
    return at != flying_.end() && at->number == number ? &*at : nullptr;
  }
  bool has_ended(operation const& o) {
    if (!fault_.empty()) return false;
    cudaError_t const status = cudaEventQuery(o.end.get());
    if (status != cudaSuccess && status != cudaErrorNotReady)
      fault_ = "a kernel or copy failed: " + cuda::explain(status) + ".";
    return status == cudaSuccess;
  }

  std::deque<operation> flying_;
  std::vector<cuda::event> spare_;
  std::uint64_t last_ended_ = 0;
  std::string fault_;
  mutable std::mutex mutex_;
};

}  // namespace ashlar::nccl
