// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The command-line options that several benchmarks share: how long to measure, how much CPU time
// other processes may use during a measurement, and the file to which the table is appended.

#include <algorithm>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "trials.hpp"

namespace ashlar_bench {

struct measuring_options {
  effort how;
  double others = 100;  ///< the share of all cores' time that other processes may use, in per cent
  std::string csv{};
};

/// Adds the options of measuring_options to `app`. `unit` completes the help text of --seconds,
/// "approximate time for each UNIT".
inline void add_to(CLI::App& app, measuring_options& o, std::string const& unit) {
  app.add_option("--trials", o.how.most_rounds, "maximum number of trials of each case")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", o.how.budget, "approximate time for each " + unit);
  app.add_option("--others", o.others,
                 "measure again, at most twice, while other processes use more than this "
                 "percentage of the cores");
  app.add_option("--csv", o.csv, "append the table to this file");
}

/// Parses the command line. Returns an exit status if the program should end, because help was
/// asked for or the command line is wrong. Rank 0 prints the help or the error.
inline std::optional<int> parse(CLI::App& app, measuring_options& o, int argc, char** argv,
                                int rank) {
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    return rank == 0 ? app.exit(e) : e.get_exit_code();
  }
  o.how.least_rounds = std::min(o.how.least_rounds, o.how.most_rounds);
  return {};
}

}  // namespace ashlar_bench
