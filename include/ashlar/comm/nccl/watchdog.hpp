// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A thread that watches the operations of a rank on its device. It turns a collective that cannot
// end into an error, so that no job hangs:
//
//   event                                                   action of the watchdog
//   an operation has ended                                  marks it in the flight record
//   a communicator reports a fault of this or another rank  stops the rank
//   an operation has not ended within the deadline          stops the rank
//
// To stop a rank, the watchdog aborts the communicators, so that the program's thread returns from
// any wait. Then the watchdog prints the flight record. The next call of refuse_if_stopped in the
// program's thread throws the fault. If there is no such call within `patience`, the watchdog ends
// the process, which ends the job.
//
// ASHLAR_NCCL_TIMEOUT sets the deadline (unique_id.hpp). All access to the device is in the
// callbacks of `watched`, so that the watchdog can be tested without a device.

#include <condition_variable>
#include <functional>
#include <thread>

#include <ashlar/comm/nccl/flight_record.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nccl {

/// The callbacks of a watchdog, which its thread calls. They must not wait for the device and must
/// not throw.
struct watched {
  std::function<std::uint64_t()> last_ended;  ///< number of the last operation that has ended
  std::function<std::string()> fault;         ///< error message of a communicator; empty: no fault
  /// Aborts all NCCL communicators. The argument is the reason.
  std::function<void(std::string const&)> take_down;
  std::function<void(std::string const&)> print;  ///< prints a message for the user
  /// Prints the message and ends the process. Does not return.
  std::function<void(std::string const&)> end_process;
};

class watchdog {
 public:
  using milliseconds = std::chrono::milliseconds;

  watchdog(flight_record& record, watched what, milliseconds deadline,
           milliseconds patience = std::chrono::seconds(10))
      : record_(record), what_(std::move(what)), deadline_(deadline), patience_(patience),
        thread_([this] { watch(); }) {}
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
  void watch() {
    auto const pause = std::clamp(deadline_ / 20, milliseconds(1), milliseconds(100));
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, pause, [this] { return done_; })) {
      lock.unlock();
      std::string const why = find_fault();
      lock.lock();
      if (!why.empty()) return stop(lock, why);
    }
  }

  std::string find_fault() {
    if (std::string const text = what_.fault(); !text.empty()) {
      auto const e = record_.oldest_open();
      return text + (e.number == 0 ? "" : " The oldest open operation is " + record_.text(e) + ".");
    }
    record_.ended(what_.last_ended());
    auto const e = record_.oldest_open();
    auto const age = flight_record::clock::now() - e.issued;
    if (e.number == 0 || age < deadline_) return "";
    return record_.text(e) + " has not ended within " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(deadline_).count()) +
           " s. A rank died, or the ranks do not call the same operations in the same order: "
           "compare "
           "their records. ASHLAR_NCCL_TIMEOUT gives more seconds.";
  }

  void stop(std::unique_lock<std::mutex>& lock, std::string const& why) {
    why_ = why;
    lock.unlock();
    what_.take_down(why);
    what_.print(why + "\nThe last operations of this rank:\n" + record_.text());
    lock.lock();
    if (!wake_.wait_for(lock, patience_, [this] { return done_ || heard_; })) {
      lock.unlock();
      what_.end_process("the program's thread did not return from its wait: " + why);
    }
  }

  flight_record& record_;
  watched what_;
  milliseconds deadline_, patience_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string why_;
  bool done_ = false, heard_ = false;
  std::thread thread_;  // last: the thread starts when the other members exist
};

}  // namespace ashlar::nccl
