// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A thread that watches what a rank has issued, so that a collective that cannot end becomes an error
// and no job hangs:
//
//   it sees                                            it does
//   an operation ended                                 says so in the flight record
//   a fault of a communicator (another rank's too)     stops
//   the oldest operation is older than the deadline    stops
//
//   to stop   take the communicators down, so that the program's thread comes back from whatever waits;
//             print the flight record; throw the fault at that thread's next call (refuse_if_stopped). If
//             it makes none within `patience`, end the process, which ends the job.
//
// The deadline says ASHLAR_NCCL_TIMEOUT (unique_id.hpp). What is watched is behind `watched`, so that
// this is tested where there is no device.

#include <condition_variable>
#include <functional>
#include <thread>

#include <ashlar/comm/nccl/flight_record.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nccl {

/// What a watchdog asks and does. Called from its thread; none may wait for the device or throw.
struct watched {
  std::function<std::uint64_t()> last_ended;  ///< number of the last operation that has ended
  std::function<std::string()> fault;         ///< empty while all communicators are well
  std::function<void(std::string const&)> take_down;    ///< ncclCommAbort, and why
  std::function<void(std::string const&)> print;        ///< for people
  std::function<void(std::string const&)> end_process;  ///< with its message, does not return
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
  /// Throws ashlar::error if it has stopped; from the program's thread before each operation.
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
      return text + (e.number == 0 ? "" : " It was at " + record_.text(e) + ".");
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
      what_.end_process("the program did not come back from what it waits for: " + why);
    }
  }

  flight_record& record_;
  watched what_;
  milliseconds deadline_, patience_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string why_;
  bool done_ = false, heard_ = false;
  std::thread thread_;  // last: starts when the rest exists
};

}  // namespace ashlar::nccl
