// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The queue of a mesh's transfers: it determines their order and lists the pending ones.
//
// When the program requests a transfer, the transfer takes a ticket: the next number of its group.
// A group consists of the ranks along some axes of the mesh. All ranks run the same program, so a
// ticket denotes the same transfer on all of them. A transfer begins when the previous one in its
// group has ended on this rank. Groups do not wait for each other. All tickets of a plan are taken
// at once, in program order. So the earliest unfinished plan can always advance, and there is no
// deadlock.
//
// A part of a mesh (mesh::part) has groups of its own, and so its own tickets. It shares the list
// of pending operations with the whole mesh. So a rank that waits for a transfer of one part
// advances the transfers of all parts.
//
// There is no progress thread. A rank that waits calls poll(). A long computation can call poll()
// too (mesh::progress).

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <ashlar/placement/placement.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/fork_watch.hpp>
#include <ashlar/support/recycled.hpp>
#include <ashlar/support/stopwatch.hpp>

namespace ashlar {

/// A pending operation, which advances only when its function advance() is called.
class pending_operation : public recycled {
 public:
  virtual ~pending_operation() = default;
  /// Does all work that is possible now, without waiting. Returns true when the operation has
  /// ended.
  virtual bool advance() = 0;
  /// Tries to order the processor's later work after this operation, without waiting. Returns
  /// whether this succeeded. On the host it succeeds only after the operation has ended. A device
  /// keeps the order of its queue by itself. So on a device, join() succeeds once the operation is
  /// in the device's queue.
  virtual bool join() { return advance(); }
  /// Returns whether operations started from now on are ordered after this one even without join(),
  /// as in the queue of a device.
  virtual bool is_queued() const { return false; }
};

class operation_queue {
 public:
  operation_queue() = default;
  /// Makes the queue of a part of a mesh. `whole` is the queue of the mesh.
  explicit operation_queue(operation_queue& whole) : whole_(whole.whole_) {}
  operation_queue(operation_queue const&) = delete;
  operation_queue& operator=(operation_queue const&) = delete;

  std::uint64_t take_ticket(axis_list const& axes) {
    refuse_if_abandoned();
    return ++taken_[set_of(axes)];
  }
  bool is_turn_of(axis_list const& axes, std::uint64_t ticket) const {
    return ended_[set_of(axes)] + 1 == ticket;
  }
  void end(axis_list const& axes) { ++ended_[set_of(axes)]; }

  void add(pending_operation& p) {
    if (idle()) whole_->since_ = {};
    whole_->under_way_.push_back(&p);
  }
  /// Adds the operation and calls begin(), which must start the operation. If begin() throws,
  /// removes the operation and abandons the transfers.
  template <class Begin>
  void begin(pending_operation& p, Begin const& begin) {
    add(p);
    try {
      begin();
    } catch (...) {
      remove(p);
      abandon();
      throw;
    }
  }
  void remove(pending_operation& p) {
    if (std::erase(whole_->under_way_, &p) > 0 && idle())
      whole_->seconds_ += whole_->since_.seconds();
  }
  /// Returns the seconds in which operations were pending and the program did other work. While
  /// operations are pending, the current period is not included yet.
  double seconds_hidden() const { return whole_->seconds_ - whole_->waited_; }
  /// Adds seconds that the program spent in transfers while operations were pending.
  void count_waiting(double seconds) { whole_->waited_ += seconds; }
  /// Records that a transfer with a ticket will never end. Later transfers would wait for this
  /// transfer forever, so they throw instead. The first call also calls the callback given to
  /// on_abandon. Does nothing in a child process, since the parent's transfers go on.
  void abandon() {
    if (whole_->fork_.is_in_child()) return;
    if (!std::exchange(whole_->abandoned_, true) && whole_->tell_) whole_->tell_();
  }
  void on_abandon(std::function<void()> tell) { whole_->tell_ = std::move(tell); }
  /// Returns whether this process must no longer advance transfers, because they are abandoned or
  /// because they are those of the parent process.
  bool is_abandoned() const { return whole_->abandoned_ || whole_->fork_.is_in_child(); }
  void refuse_if_abandoned() const {
    if (whole_->abandoned_)
      throw error("mesh", "an exception dropped a transfer that was pending; later transfers would "
                          "wait forever. Create a new mesh.");
  }
  bool idle() const { return whole_->under_way_.empty(); }

  /// From now on until stop_serving(p), poll() also advances `p`, which serves other ranks and does
  /// not end. Such an operation does not count as pending, since nothing waits for it.
  void serve(pending_operation& p) { whole_->services_.push_back(&p); }
  void stop_serving(pending_operation& p) { std::erase(whole_->services_, &p); }
  /// Returns whether poll() has something to advance.
  bool needs_polling() const { return !idle() || !whole_->services_.empty(); }

  /// Advances all pending operations, and serves other ranks. Does nothing if one of these
  /// operations calls it during its own advance().
  void poll() {
    if (whole_ != this) return whole_->poll();
    if (polling_ || !needs_polling()) return;
    polling_ = true;
    struct guard {
      bool& flag;
      ~guard() { flag = false; }
    } const reset{polling_};
    for (std::size_t i = 0; i < under_way_.size(); ++i) under_way_[i]->advance();
    for (std::size_t i = 0; i < services_.size(); ++i) services_[i]->advance();
  }

 private:
  std::uint64_t taken_[1 << max_axes]{};
  std::uint64_t ended_[1 << max_axes]{};
  operation_queue* whole_ = this;
  std::vector<pending_operation*> under_way_, services_;
  stopwatch since_;  // when the first of the pending operations was added
  double seconds_ = 0, waited_ = 0;
  bool polling_ = false;
  bool abandoned_ = false;
  std::function<void()> tell_;
  fork_watch fork_;
};

}  // namespace ashlar
