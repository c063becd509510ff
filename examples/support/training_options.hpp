// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Reads the command line options that every training program has. Also ends a program whose command
// line asks for help or is wrong.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace example {

struct training_options {
  std::string mesh, layout = "auto", save_layout, memory_limit, machine, trace, checkpoint;
  std::string pipeline, schedule, overlap = "as_planned", sync, wire;
  int plain_steps = 0;  ///< the number of first steps in which gradients have no --wire
  int delay = 0;        ///< by how many steps gradients are delayed
  /// A rank may read parameters that are stale by at most this many steps. A negative number means
  /// that steps are synchronous.
  int staleness = -1;
  int in_flight = 0;  ///< the most micro-batches in flight in a pipeline stage; 0 means no limit
  int batch = 8, steps = 100, warmup = 10, every = 10, every_steps = 100, keep = 2;
  double lr = 1e-3;
  std::uint64_t seed = 1;
  bool exact_log = false, resume = false;
};

/// Adds the training options to `app`. Their current values become the defaults.
void add_training_options(CLI::App& app, training_options& o);

/// Adds an option for an integer that is at least `least`.
void add_number(CLI::App& app, char const* name, int& value, int least, char const* help);

/// The last output and the exit code of a program that ends when it has read its command line,
/// because help was requested or an option is wrong.
struct farewell {
  int exit_code = 0;
  std::string output, error;

  /// Prints the output if `speaks` is true; only one process should pass true. Returns the exit
  /// code for main.
  int say(bool speaks) const;
};

/// Reads the command line. If the program should end, because help was requested or an option is
/// wrong, returns its last output and its exit code.
std::optional<farewell> read_options(CLI::App& app, int argc, char** argv);

}  // namespace example
