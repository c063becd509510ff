// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An owner of parameters that serves workers, which push gradients to it and read values from it
// (update_clock.hpp). It decides when an update is made, with which gradient, and when a read is
// answered. It does not hold the values and sends no messages: the caller gives it two functions.
//
//   update(gradient, step)   updates the values; `step` is the step that has made the gradient
//   answer(worker)           sends the values as they are now to the worker, as a whole
//
// No function waits, so a handler of messages may call all of them. With a staleness of 0 the owner
// keeps the gradients of a step until the last one has arrived, and adds them in the order of the
// ranks. The bits of the sum are then those of sum_order::by_rank (comm/sum_order.hpp).

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <ashlar/sync/update_clock.hpp>

namespace ashlar::sync {

/// T is the type of the gradient's elements.
template <class T>
class parameter_owner {
 public:
  /// `elements` is the number of elements of all parameters of this owner.
  parameter_owner(int workers, int staleness, std::size_t elements)
      : clock_(workers, staleness), reads_(static_cast<std::size_t>(workers)) {
    if (clock_.sums_workers()) addends_.resize(reads_.size(), std::vector<T>(elements));
  }

  update_clock const& clock() const { return clock_; }
  /// Returns how many reads were not answered at once, because gradients of other workers had not
  /// arrived.
  std::int64_t deferred() const { return deferred_; }

  /// Takes the gradient that `worker` has made in its step `step`. Calls update() if an update is
  /// due, and then answers the reads that were waiting for it. Throws ashlar::error unless this is
  /// the next step of the worker.
  template <class Update, class Answer>
  void push(int worker, std::int64_t step, std::span<T const> gradient, Update const& update,
            Answer const& answer) {
    if (clock_.sums_workers())
      std::copy(gradient.begin(), gradient.end(),
                addends_[static_cast<std::size_t>(worker)].begin());
    if (!clock_.receive(worker, step)) return;
    update(clock_.sums_workers() ? sum() : gradient, step);
    for (int w = 0; w < clock_.workers(); ++w) {
      auto& r = reads_[static_cast<std::size_t>(w)];
      if (!r.is_waiting || !clock_.may_read(w, r.step, r.staleness)) continue;
      r.is_waiting = false;
      answer(w);
    }
  }

  /// Takes the request of `worker` to read the values before its step `step`, with at most this
  /// staleness. Calls answer(worker), now or in a later push. Expects that the worker waits for no
  /// other answer.
  template <class Answer>
  void read(int worker, std::int64_t step, int staleness, Answer const& answer) {
    if (clock_.may_read(worker, step, staleness)) return answer(worker);
    reads_[static_cast<std::size_t>(worker)] = {step, staleness, true};
    // A read that has overtaken the last gradient of its own worker does not count.
    if (clock_.received(worker) >= step) ++deferred_;
  }

  /// Lets the training continue with step `step` (update_clock::continue_at).
  void continue_at(std::int64_t step) { clock_.continue_at(step); }

 private:
  struct waiting_read {
    std::int64_t step = 0;
    int staleness = 0;
    bool is_waiting = false;
  };

  /// Returns the sum of the gradients of all workers. The sum overwrites the gradient of the first
  /// worker, which is not needed any more.
  std::span<T const> sum() {
    auto& to = addends_.front();
    for (std::size_t w = 1; w < addends_.size(); ++w)
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += addends_[w][i];
    return to;
  }

  update_clock clock_;
  std::vector<waiting_read> reads_;      // by worker
  std::vector<std::vector<T>> addends_;  // by worker; empty if updates take one gradient
  std::int64_t deferred_ = 0;
};

}  // namespace ashlar::sync
