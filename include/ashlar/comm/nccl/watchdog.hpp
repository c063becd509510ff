// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A thread that watches the operations of a rank on its device. It turns a collective that cannot
// end into an error, so that no job hangs:
//
//   event                                                   action of the watchdog
//   an operation has ended                                  marks it in the flight record
//   a communicator reports a fault of this or another rank  stops the rank
//   the device reports an error                             stops the rank
//   an operation has not ended within the timeout           stops the rank, or warns
//
// To stop a rank, the watchdog aborts the communicators, so that the program's thread returns from
// any wait. Then the watchdog prints the fault. The next call of refuse_if_stopped in the program's
// thread throws the fault as an error. If there is no such call within `patience`, the watchdog
// ends the process, which ends the job.
//
// The time of an operation begins when the host has given it to the device, or when the operation
// before it has ended, whichever is later. This time includes the computations that are queued
// before the operation. So the timeout is ten times ASHLAR_TIMEOUT (environment.hpp).
//
// The watchdog of the mesh (comm/watch/watchdog.hpp) finds out why an operation does not end, as it
// does for ranks on the host. All access to the device is in the callbacks of `watched`, so that
// the watchdog can be tested without a device.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <ashlar/comm/watch/diagnosis.hpp>
#include <ashlar/comm/watch/flight_record.hpp>
#include <ashlar/comm/watch/settings.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nccl {

/// The callbacks of a watchdog, which its thread calls. They must not wait for the device and must
/// not throw.
struct watched {
  std::function<std::uint64_t()> last_ended;  ///< operations up to this number have ended
  /// Returns the error message of the device or of a communicator, or an empty text if there is no
  /// fault.
  std::function<std::string()> fault;
  /// Writes a flight record and returns the reason (the argument) and further sentences. If
  /// `asks_others`, these say which ranks have not begun the operation. Returns an empty string if
  /// the rank should keep waiting.
  std::function<std::string(std::string const&, bool asks_others)> explain;
  /// Aborts all NCCL communicators. The argument is the reason.
  std::function<void(std::string const&)> take_down;
  std::function<void(std::string const&)> print;  ///< prints a message for the user
  /// Prints the message and ends the process. Does not return.
  std::function<void(std::string const&)> end_process;
};

class watchdog {
 public:
  using milliseconds = std::chrono::milliseconds;

  watchdog(watch::flight_record& record, watched what, watch::settings wanted,
           milliseconds patience = std::chrono::seconds(10))
      : record_(record), what_(std::move(what)), wanted_(std::move(wanted)), patience_(patience),
        thread_([this] { run(); }) {}
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog() {
    {
      std::lock_guard const lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  bool has_stopped() const {
    std::lock_guard const lock(mutex_);
    return !why_.empty();
  }
  /// Throws ashlar::error if the watchdog has stopped the rank. The program's thread calls this
  /// before each operation.
  void refuse_if_stopped() {
    std::unique_lock lock(mutex_);
    if (why_.empty()) return;
    heard_ = true;
    std::string const why = why_;
    lock.unlock();
    wake_.notify_all();
    throw error("nccl", why);
  }

 private:
  void run() {
    auto const pause = wanted_.is_on()
                           ? std::clamp(wanted_.timeout / 20, milliseconds(1), milliseconds(100))
                           : milliseconds(100);
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, pause, [this] { return done_; })) {
      lock.unlock();
      std::string const why = find_fault();
      lock.lock();
      if (!why.empty()) return stop(lock, why);
    }
  }

  /// Returns a fault that must stop the rank, or an empty string.
  std::string find_fault() {
    record_.ended_up_to(what_.last_ended());
    double const waits = record_.tick();
    if (std::string const text = what_.fault(); !text.empty()) {
      auto const open = oldest_open();
      return text + (open.empty() ? "" : " The oldest open operation is " + open + ".");
    }
    auto const deadline = std::chrono::duration<double>(wanted_.timeout).count();
    auto const number = record_.oldest_open();
    if (waits < deadline) next_look_ = 0;
    if (!wanted_.is_on() || waits < deadline || waits < next_look_ || number == warned_of_)
      return "";
    // The watchdog asks the other ranks before it aborts the communicators of this rank, because
    // the abort causes faults on the other ranks.
    auto const why = oldest_open() + " has not ended within " + watch::waited_text(deadline) + ".";
    auto const text = what_.explain(why, true);
    record_.ended_up_to(what_.last_ended());
    if (record_.oldest_open() != number) return "";  // it has ended while the others were asked
    next_look_ = waits + deadline;
    is_explained_ = !text.empty() && !wanted_.only_warns;
    if (!wanted_.only_warns || text.empty()) return text;
    warned_of_ = number;
    what_.print("warning: " + text);
    return "";
  }

  /// Returns the text of the oldest operation that has not ended, or an empty string.
  std::string oldest_open() const {
    auto const report = record_.report(0, 0);
    auto const* const open = report.awaited();
    return open == nullptr ? "" : open->text;
  }

  void stop(std::unique_lock<std::mutex>& lock, std::string const& why) {
    why_ = why;
    lock.unlock();
    what_.take_down(why);
    what_.print(is_explained_ ? why : what_.explain(why, false));
    lock.lock();
    if (!wake_.wait_for(lock, patience_, [this] { return done_ || heard_; })) {
      lock.unlock();
      what_.end_process("the program's thread did not return from its wait: " + why);
    }
  }

  watch::flight_record& record_;
  watched what_;
  watch::settings wanted_;
  milliseconds patience_;
  bool is_explained_ = false;
  double next_look_ = 0;         // seconds of waiting at which the others are asked again
  std::uint64_t warned_of_ = 0;  // the number of the operation of the last warning
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string why_;
  bool done_ = false, heard_ = false;
  std::thread thread_;  // last: the thread starts when the other members exist
};

}  // namespace ashlar::nccl
