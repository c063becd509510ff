// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ends a test run that hangs. A `deadline` object waits for ASHLAR_TEST_DEADLINE seconds (default
// 120) from its construction. It then calls `give_up` with a sentence that names the current test.
// Destroying the object cancels the call. A separate thread makes the call, because the main thread
// hangs.
//
// The thread that constructs the object reads the variable. The other thread must not read the
// environment: tests change it (transport.hpp), and setenv may free the array that getenv reads.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace ashlar_test {

class deadline {
 public:
  using action = void (*)(std::string const&);

  explicit deadline(action give_up)
      : seconds_(seconds_from_environment()), thread_([this, give_up] { watch(give_up); }) {}
  deadline(deadline const&) = delete;
  ~deadline() {
    {
      std::lock_guard const lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  // Sets the name of the test that runs from now on. The string `test` must outlive the deadline.
  static void now_in(char const* test) { current = test; }

 private:
  static int seconds_from_environment() {
    char const* const given = std::getenv("ASHLAR_TEST_DEADLINE");
    int const parsed = given ? std::atoi(given) : 0;
    return parsed > 0 ? parsed : 120;
  }

  void watch(action give_up) {
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, std::chrono::seconds(seconds_), [this] { return done_; })) return;
    give_up("not done after " + std::to_string(seconds_) + " s, in \"" + current.load() + "\"");
  }

  static inline std::atomic<char const*> current = "start-up";
  int const seconds_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;  // last member: the thread uses the others
};

}  // namespace ashlar_test
