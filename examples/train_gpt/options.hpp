// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// What train_gpt can be told on its command line.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace example {

struct options {
  std::string text, prompt = "/// The ", mesh, layout = "auto", save_layout, memory_limit, machine;
  int layers = 2, d_model = 128, heads = 4, context = 128, batch = 8, micro_batches = 1;
  int steps = 100, warmup = 10, every = 10, sample = 0;
  double lr = 1e-3, clip = 1.0, dropout = 0.0, weight_decay = 0.01, temperature = 0.7;
  std::uint64_t seed = 1;
  bool exact_log = false;
};

/// Reads the command line. Fills `exit_code` instead if the program has nothing more to do: help was
/// asked for, or an option is wrong. Only a program that `speaks` prints.
options parse_options(int argc, char** argv, bool speaks, std::optional<int>& exit_code);

}  // namespace example
