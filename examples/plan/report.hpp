// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Output of the program `plan`: the progress line during a search, and the line that compares a
// plan with the found one.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include <unistd.h>

#include <ashlar/plan/text.hpp>
#include <ashlar/step/plan.hpp>

namespace example {

/// A status line on standard error. Each message overwrites the previous message, and an empty
/// message erases the line. If a message stays for a second or more, the elapsed seconds are shown
/// after it. Shows nothing if `wanted` is false or standard error is not a terminal.
class progress_line {
 public:
  explicit progress_line(bool wanted) {
    if (wanted && isatty(STDERR_FILENO) != 0)
      clock_ = std::jthread([this](std::stop_token const& stop) { count(stop); });
  }
  ~progress_line() { show(""); }

  void show(std::string const& text) const {
    if (!clock_.joinable()) return;
    std::lock_guard const lock(mutex_);
    text_ = text;
    since_ = std::chrono::steady_clock::now();
    print(text);
  }

 private:
  static void print(std::string const& text) { std::fprintf(stderr, "\r\033[K%s", text.c_str()); }

  void count(std::stop_token const& stop) {
    std::unique_lock lock(mutex_);
    while (!ending_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) &&
           !stop.stop_requested()) {
      auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::steady_clock::now() - since_)
                               .count();
      if (!text_.empty() && seconds > 0) print(text_ + ", " + std::to_string(seconds) + " s");
    }
  }

  mutable std::mutex mutex_;
  mutable std::string text_;
  mutable std::chrono::steady_clock::time_point since_;
  std::condition_variable_any ending_;
  std::jthread clock_;
};

/// Prints the seconds of `plan`, their difference from the seconds of `found` in per cent, and the
/// bytes of `plan` per rank. `memory` is the machine's limit in bytes per rank (0: no limit). If
/// the plan exceeds the limit, a note says so.
inline void print_beside(char const* name, ashlar::search::plan const& plan,
                         ashlar::search::plan const& found, std::int64_t memory) {
  std::printf("  %-16s %12s a step, %+6.1f %%; %12s per rank%s\n", name,
              ashlar::seconds_text(plan.seconds).c_str(), 100 * (plan.seconds / found.seconds - 1),
              ashlar::bytes_text(double(plan.memory)).c_str(),
              memory > 0 && plan.memory > memory ? ", which does not fit" : "");
}

}  // namespace example
