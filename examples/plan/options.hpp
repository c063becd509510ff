// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The command line options of the program `plan`.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace example {

struct options {
  std::string model;
  int layers = 12, optimizer_states = 2;
  int stages = 1, micro_batches = 1;  ///< with 0, the search chooses the number
  int interleaved = 1;                ///< micro-batches that take turns; with 0, the search chooses
  bool overlap = false;               ///< whether the overlapped time of a step is minimized
  /// The most micro-batches in flight in a stage; 0 means no limit.
  int in_flight = 0;
  /// The schedule of pipeline stages; with auto, the search chooses.
  std::string schedule = "auto";
  std::int64_t d_model = 768, heads = 12, context = 1024, batch = 8, vocabulary = 50257;
  std::vector<std::int64_t> widths{1024, 4096, 4096, 1000};  ///< the widths of mlp
  /// The rows and columns of an image, and the classes of image nets.
  std::int64_t image = 224, classes = 1000;
  bool halo = false, tied = false;
  bool as_trained = false;  ///< whether a GPT is the net of train_gpt (support/nets.hpp)
  std::vector<std::int64_t> channels{672, 1344, 2688, 2688};  ///< the channels of u-transformer
  std::int64_t tables = 26, rows = 1'000'000;                 ///< the tables of dlrm and their rows
  /// The number of tokens of the fullest rank divided by the mean over all ranks, if a plan splits
  /// the experts over ranks. Predictions use this quotient.
  double imbalance = 1;
  int experts = 0, top = 0;  ///< with 0, the model's own number is taken
  std::string type = "float";

  std::string mesh = "node=1,gpu=8", machine = "h200_server", memory_limit;
  std::string algorithm = "exact";
  std::uint64_t seed = 0;
  std::int64_t evaluations = 0;
  double seconds = 0;
  std::vector<std::string> pins;
  /// The seconds of a step without the pins, if a search of pipelines has found them, else 0.
  double seconds_without_pins = 0;

  std::string out, html, header, name = "plan", diff, sync;
  bool explain = false, program = false, quiet = false;
  int pareto = 0;
};

/// Reads the command line. Sets `exit_code` if the program should end, because help was requested
/// or an option is wrong.
options parse_options(int argc, char** argv, std::optional<int>& exit_code);

}  // namespace example
