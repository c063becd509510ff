// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// What every training program can be told on its command line, and how a command line ends a program.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace example {

struct training_options {
  std::string mesh, layout = "auto", save_layout, memory_limit, machine, trace;
  int batch = 8, steps = 100, warmup = 10, every = 10;
  double lr = 1e-3;
  std::uint64_t seed = 1;
  bool exact_log = false, no_overlap = false;
};

/// Adds them to `app`, with what they are now as defaults.
void add_training_options(CLI::App& app, training_options& o);

/// Adds a whole number that is at least `least`.
void add_number(CLI::App& app, char const* name, int& value, int least, char const* help);

/// What is left to do if a program ends with its command line: help was asked for, or an option is wrong.
struct farewell {
  int exit_code = 0;
  std::string output, error;

  /// Prints if this process `speaks`; what main returns.
  int say(bool speaks) const;
};

/// Reads the command line; a farewell if the program has nothing more to do.
std::optional<farewell> read_options(CLI::App& app, int argc, char** argv);

}  // namespace example
