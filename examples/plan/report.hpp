// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Output of the program `plan`: the progress line during a search, and the line that compares a
// plan with the found one.

#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

#include <ashlar/plan/text.hpp>
#include <ashlar/step/plan.hpp>

namespace example {

/// One line on a terminal that is overwritten with each message and erased at the end.
class progress_line {
 public:
  explicit progress_line(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}
  ~progress_line() { show(""); }
  void show(std::string const& text) const {
    if (wanted_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }

 private:
  bool wanted_;
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
