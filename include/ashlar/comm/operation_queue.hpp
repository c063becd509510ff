// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The order of a mesh's transfers, and who moves those that are under way.
//
// Every transfer takes a ticket when the program asks for it: the next number of its group of axes.
// All ranks run the same program, so the same ticket means the same transfer on all of them. A
// transfer begins when this rank has ended the one before it in the same group. Groups do not wait
// for each other; since all tickets of a plan are taken at once, in program order, the earliest
// unfinished plan can always go on and nothing waits in a circle.
//
// Nothing moves by itself: whoever waits calls poll(), and so can a long computation (mesh::progress).

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <ashlar/placement/placement.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/recycled.hpp>

namespace ashlar {

/// Something under way that goes on when it is told to.
class pending_operation : public recycled {
 public:
  virtual ~pending_operation() = default;
  /// Does what can be done now, never waits. True when all is done.
  virtual bool advance() = 0;
  /// Makes what the processor is given from now on come after the end, and waits for nothing. True when
  /// that is so: at once where a device keeps the order, else when all is done.
  virtual bool join() { return advance(); }
  /// Whether what is started from now on comes after the end by itself.
  virtual bool is_queued() const { return false; }
};

class operation_queue {
 public:
  /// A group's index: the set of its axes.
  static constexpr unsigned group_of(axis_list const& axes) {
    unsigned set = 0;
    for (auto const a : axes) set |= 1u << a;
    return set;
  }

  std::uint64_t take_ticket(axis_list const& axes) {
    refuse_if_abandoned();
    return ++taken_[group_of(axes)];
  }
  bool is_turn_of(axis_list const& axes, std::uint64_t ticket) const {
    return ended_[group_of(axes)] + 1 == ticket;
  }
  void end(axis_list const& axes) { ++ended_[group_of(axes)]; }

  void add(pending_operation& p) { under_way_.push_back(&p); }
  void remove(pending_operation& p) { std::erase(under_way_, &p); }
  /// A transfer that has its ticket will never end. Calls what on_abandon was given.
  void abandon() {
    if (!std::exchange(abandoned_, true) && tell_) tell_();
  }
  void on_abandon(std::function<void()> tell) { tell_ = std::move(tell); }
  bool is_abandoned() const { return abandoned_; }
  void refuse_if_abandoned() const {
    if (abandoned_)
      throw error("mesh",
                  "an exception dropped a transfer that was under way, and those behind it would "
                  "wait for ever. Go on with a new mesh.");
  }
  bool idle() const { return under_way_.empty(); }

  /// Lets everything under way go on. A call from within one of them does nothing.
  void poll() {
    if (polling_ || under_way_.empty()) return;
    polling_ = true;
    struct guard {
      bool& flag;
      ~guard() { flag = false; }
    } const reset{polling_};
    for (std::size_t i = 0; i < under_way_.size(); ++i) under_way_[i]->advance();
  }

 private:
  std::uint64_t taken_[1 << max_axes]{};
  std::uint64_t ended_[1 << max_axes]{};
  std::vector<pending_operation*> under_way_;
  bool polling_ = false;
  bool abandoned_ = false;
  std::function<void()> tell_;
};

}  // namespace ashlar
