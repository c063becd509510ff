// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The clock of an owner of parameters in stale synchronous parallel training (SSP; Ho et al. 2013):
// which gradients the owner's values contain, and which reads it may answer. The clock moves no
// data.
//
//   staleness K    a worker that reads before its step c, counted from 0, gets values that contain
//   0              exactly the gradients of the steps below c of all workers: synchronous training
//   K > 0          at least the gradients of the steps below c - K of all workers,
//                  and of the steps below c of the worker itself
//   asynchronous   at least the gradients of the steps below c of the worker itself
//
// So with a staleness K a worker may start step c only after every worker has finished step
// c - K - 1.
//
//   staleness K    an update takes
//   0              the sum of the gradients of all workers, when the last one has arrived
//   others         one gradient, when it arrives
//
// Every rank of a training is a worker of every owner. So an owner is also a worker of itself.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ashlar/support/error.hpp>

namespace ashlar::sync {

/// The staleness of asynchronous training, in which no worker waits for another one.
inline constexpr int asynchronous = std::numeric_limits<int>::max();

class update_clock {
 public:
  /// Throws ashlar::error if there is no worker, or if `staleness` is below 0.
  update_clock(int workers, int staleness) : staleness_(staleness) {
    if (workers < 1 || staleness < 0)
      throw error("update_clock", std::to_string(workers) + " workers with a staleness of " +
                                      std::to_string(staleness) +
                                      ": write 1 worker or more and a staleness of 0 or more.");
    received_.resize(static_cast<std::size_t>(workers));
  }

  int workers() const { return static_cast<int>(received_.size()); }
  int staleness() const { return staleness_; }
  /// Returns whether an update takes the sum of the gradients of all workers.
  bool sums_workers() const { return staleness_ == 0; }

  /// Returns how many updates the gradients of the first `steps` steps of all workers make.
  std::int64_t updates_in(std::int64_t steps) const {
    return sums_workers() ? steps : steps * workers();
  }

  /// Records that the gradient that `worker` has made in its step `step` has arrived. Returns
  /// whether the owner must now make an update, before it answers any read. Throws ashlar::error
  /// unless this is the next step of the worker.
  bool receive(int worker, std::int64_t step) {
    auto& next = received_[static_cast<std::size_t>(worker)];
    if (step != next)
      throw error("update_clock", "rank " + std::to_string(worker) + " sent the gradient of step " +
                                      std::to_string(step) + ", but that of step " +
                                      std::to_string(next) + " is its next one.");
    ++next;
    if (sums_workers() && complete() == version_) return false;
    ++version_;
    return true;
  }

  /// Returns how many updates the values contain.
  std::int64_t version() const { return version_; }
  /// Returns the first step of `worker` whose gradient has not arrived.
  std::int64_t received(int worker) const { return received_[static_cast<std::size_t>(worker)]; }
  /// Returns the first step of `worker` whose gradient the values do not contain.
  std::int64_t contained(int worker) const { return sums_workers() ? version_ : received(worker); }
  /// Returns the first step for which the values do not contain the gradients of all workers.
  std::int64_t complete() const { return *std::min_element(received_.begin(), received_.end()); }

  /// Returns whether the values contain what `worker` must read before its step `step`.
  bool may_read(int worker, std::int64_t step) const { return may_read(worker, step, staleness_); }
  /// Returns whether the values contain what `worker` must read before its step `step` if it asks
  /// for this staleness, which is at most that of the clock.
  bool may_read(int worker, std::int64_t step, int staleness) const {
    return contained(worker) >= step && complete() >= step - staleness;
  }

  /// Lets the clock continue with step `step` of every worker, as if the gradients of all earlier
  /// steps had arrived. Expects that no gradient and no read is under way.
  void continue_at(std::int64_t step) {
    std::fill(received_.begin(), received_.end(), step);
    version_ = updates_in(step);
  }

 private:
  int staleness_;
  std::int64_t version_ = 0;
  std::vector<std::int64_t> received_;  // by worker: its first step whose gradient has not arrived
};

}  // namespace ashlar::sync
