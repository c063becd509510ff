// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Records the last operations of a rank on its mesh, to diagnose an operation that does not end. An
// operation is a transfer, or something else that ranks do together, such as a barrier or a
// crossing.
//
// The program's thread writes the record, and the watchdog's thread reads it. To keep this cheap,
// the program's thread never reads the clock: the watchdog advances a coarse clock (tick).
//
// The record also tells for how long the rank has waited:
//
//   on the host   while the program's thread waits: the time since an operation or a wait last
//                 began or ended
//   on a device   while an operation has not ended: the time since the device could begin it

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/transfer_text.hpp>
#include <ashlar/config.hpp>
#include <ashlar/mesh/rank_report.hpp>

namespace ashlar::watch {

class flight_record {
 public:
  using clock = std::chrono::steady_clock;

  /// Keeps the last `kept` operations. `is_of_device` tells whether a device carries them out.
  explicit flight_record(topology const& t, bool is_of_device = false, std::size_t kept = 48)
      : is_of_device_(is_of_device), ring_(kept), parts_{{t}} {
    tick();
  }

  /// Registers a part of the mesh, in which this rank is rank `here`. ranks[i] is the number on the
  /// whole mesh of rank i of the part. Returns the number of the part for `began`.
  int add_part(topology const& t, std::vector<int> ranks, int here) {
    std::lock_guard const lock(mutex_);
    parts_.push_back({t, std::move(ranks), here});
    return static_cast<int>(parts_.size()) - 1;
  }

  /// Records that a transfer began. `part` is a result of add_part, or 0 for the whole mesh.
  /// Returns the number of the transfer in the record. Numbers begin at 1.
  std::uint64_t began(transfer_request const& s, int part = 0) {
    return add(title_of(*s.what, s.type), s.ticket, nullptr, s.label, part);
  }
  /// Records that an operation other than a transfer began. All ranks of the mesh or of the part
  /// take part in such an operation. `what` must be a literal, such as "a barrier".
  std::uint64_t began(char const* what, int part = 0) { return add({}, 0, what, nullptr, part); }
  /// Records that an operation ended.
  void ended(std::uint64_t number) {
    {
      std::lock_guard const lock(mutex_);
      if (at(number).number == number) at(number).has_ended = true;
    }
    count_event();
  }
  /// Records that this rank has done something for another rank. On the host, this resets the time
  /// for which this rank has waited to 0.
  void note_service() { count_event(); }
  /// Records that all operations up to `number` have ended.
  void ended_up_to(std::uint64_t number) {
    std::lock_guard const lock(mutex_);
    if (first_open_ > number) return;
    progressed_ = clock::now();
    for (; first_open_ <= number; ++first_open_)
      if (at(first_open_).number == first_open_) at(first_open_).has_ended = true;
    count_event();
  }
  std::uint64_t last() const {
    std::lock_guard const lock(mutex_);
    return last_;
  }
  /// Returns the number of the first operation on a device that has not ended, or 0.
  std::uint64_t oldest_open() const {
    std::lock_guard const lock(mutex_);
    return first_open_ <= last_ ? first_open_ : 0;
  }

  /// Sets the training step to which operations belong from now on. A negative number means that
  /// they belong to no step.
  void set_step(std::int64_t step) { step_.store(step, std::memory_order_relaxed); }
  /// Records the name of the long work that this rank does, for which other ranks may have to wait
  /// (comm/long_work.hpp). Null means that it does none. `what` must be a literal. Returns the name
  /// that was recorded before.
  char const* set_work(char const* what) { return work_.exchange(what, std::memory_order_relaxed); }

  /// While an object of this class exists, the record counts the program's thread as waiting.
  class waiting {
   public:
    explicit waiting(flight_record& r) : record_(&r) {
      r.waits_.fetch_add(1, std::memory_order_relaxed);
      r.count_event();
    }
    waiting(waiting const&) = delete;
    waiting& operator=(waiting const&) = delete;
    ~waiting() {
      record_->waits_.fetch_sub(1, std::memory_order_relaxed);
      record_->count_event();
    }

   private:
    flight_record* record_;
  };

  /// Advances the record's clock. Returns for how many seconds the rank has waited (see the head of
  /// this file), or a negative number if it does not wait. Called by the watchdog's thread.
  ASHLAR_INLINE double tick();

  /// Returns a report of the recorded operations. `waits` is a result of tick().
  ASHLAR_INLINE rank_report report(int rank, double waits) const;

 private:
  struct entry {
    std::uint64_t number = 0;
    std::uint64_t ticket = 0;
    transfer_title title;
    std::int64_t step = -1;
    clock::rep began = 0;
    char const* what = nullptr;  // null for a transfer
    char label[40]{};
    bool has_ended = false;
    int part = 0;
  };
  struct part_of_mesh {
    topology axes;
    std::vector<int> ranks{};  // empty for the whole mesh
    int here = 0;
    std::uint64_t begun[1 << max_axes]{};  // for each set of axes: its last ticket
    std::uint64_t others = 0;              // how many operations other than transfers have begun
  };

  std::uint64_t add(transfer_title const& title, std::uint64_t ticket, char const* what,
                    char const* label, int part) {
    std::lock_guard const lock(mutex_);
    std::uint64_t const number = ++last_;
    auto& own = parts_[static_cast<std::size_t>(part)];
    if (what != nullptr) ticket = ++own.others;
    at(number) = {number,
                  ticket,
                  title,
                  step_.load(std::memory_order_relaxed),
                  now_.load(std::memory_order_relaxed),
                  what,
                  {},
                  false,
                  part};
    auto& copy = at(number).label;
    copy[0] = '\0';
    if (label != nullptr) std::strncat(copy, label, sizeof copy - 1);
    if (what == nullptr && ticket > 0) own.begun[set_of(title.axes)] = ticket;
    count_event();
    return number;
  }
  /// Returns the number of the oldest entry that is still kept.
  std::uint64_t oldest() const { return last_ < ring_.size() ? 1 : last_ - ring_.size() + 1; }
  /// Returns the names of the axes in a set, in which bit a stands for axis a. For a group of a
  /// part, the ranks of the group follow, as in "gpu@4,5".
  static std::string text_of(unsigned set, part_of_mesh const& own) {
    axis_list axes;
    for (int a = 0; a < own.axes.axes(); ++a)
      if ((set >> a & 1) != 0) axes.push_back(static_cast<signed char>(a));
    return to_string(axes, own.axes) + ranks_text(axes, own);
  }
  /// Returns a text such as "@4,5" for the ranks of a group of a part, or an empty text for the
  /// whole mesh.
  static std::string ranks_text(axis_list const& axes, part_of_mesh const& own) {
    std::string text;
    if (own.ranks.empty()) return text;
    auto const& t = own.axes;
    for (int j = 0; j < t.group_size(axes); ++j)
      text += (j == 0 ? '@' : ',') + std::to_string(own.ranks[static_cast<std::size_t>(t.rank_of(
                                         t.member(t.coordinates_of(own.here), axes, j)))]);
    return text;
  }
  void count_event() { events_.fetch_add(1, std::memory_order_relaxed); }

  entry& at(std::uint64_t number) { return ring_[number % ring_.size()]; }
  entry const& at(std::uint64_t number) const { return ring_[number % ring_.size()]; }

  bool is_of_device_;
  std::vector<entry> ring_;
  std::uint64_t last_ = 0, first_open_ = 1;
  std::vector<part_of_mesh> parts_;  // by number; the first one is the whole mesh
  mutable std::mutex mutex_;

  std::atomic<std::int64_t> step_{-1};
  std::atomic<char const*> work_{nullptr};
  std::atomic<int> waits_{0};             // how many objects of class waiting exist
  std::atomic<std::uint64_t> events_{0};  // beginnings and ends of operations and waits; services
  std::atomic<clock::rep> now_{0};        // the coarse clock
  std::uint64_t seen_events_ = 0;         // events_ at the last tick
  // The time of the last tick at which events_ had changed or the rank did not wait.
  clock::time_point seen_;
  clock::time_point progressed_;  // the time at which an operation on a device last ended
};

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE double flight_record::tick() {
  auto const now = clock::now();
  now_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  std::lock_guard const lock(mutex_);
  if (is_of_device_) {
    if (first_open_ > last_) return -1;
    clock::time_point const began{clock::duration(at(std::max(first_open_, oldest())).began)};
    return std::max(0.0, std::chrono::duration<double>(now - std::max(began, progressed_)).count());
  }
  auto const events = events_.load(std::memory_order_relaxed);
  if (events != seen_events_ || waits_.load(std::memory_order_relaxed) == 0) {
    seen_events_ = events;
    seen_ = now;
  }
  return waits_.load(std::memory_order_relaxed) == 0
             ? -1
             : std::chrono::duration<double>(now - seen_).count();
}

ASHLAR_INLINE rank_report flight_record::report(int rank, double waits) const {
  rank_report r;
  r.rank = rank;
  r.waits = waits;
  if (auto const* const work = work_.load(std::memory_order_relaxed)) r.work = work;
  auto const now = clock::time_point(clock::duration(now_.load(std::memory_order_relaxed)));
  std::lock_guard const lock(mutex_);
  for (auto const& own : parts_)
    for (unsigned set = 0; set < std::size(own.begun); ++set)
      if (own.begun[set] > 0) r.begun[text_of(set, own)] = own.begun[set];
  for (auto const& own : parts_)
    if (own.others > 0) r.begun[ranks_text(all_axes(own.axes.axes()), own)] = own.others;
  for (std::uint64_t n = oldest(); n <= last_; ++n) {
    auto const& e = at(n);
    auto const& own = parts_[static_cast<std::size_t>(e.part)];
    reported_operation o;
    o.number = e.ticket;
    o.has_ended = e.has_ended;
    o.step = e.step;
    o.age =
        std::chrono::duration<double>(now - clock::time_point(clock::duration(e.began))).count();
    if (e.what == nullptr) o.axes = text_of(set_of(e.title.axes), own);
    else o.axes = ranks_text(all_axes(own.axes.axes()), own);
    o.text = e.what == nullptr ? to_string(e.title, own.axes) : e.what;
    if (e.label[0] != '\0') o.text += std::string(" (") + e.label + ")";
    r.operations.push_back(std::move(o));
  }
  return r;
}
#endif

}  // namespace ashlar::watch
