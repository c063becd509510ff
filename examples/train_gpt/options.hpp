// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The command line options of train_gpt. --device and --precision determine these types:
//
//   --device   --precision   activations   precision of products   parameters
//   cpu        float         float         float                   float
//   cuda       float         float         float                   float
//   cuda       tf32          float         11 significant bits     float
//   cuda       bf16          bfloat16      bfloat16                float, with a bfloat16 copy

#pragma once

#include <ashlar/machine/peak.hpp>

#include "../support/training_options.hpp"

namespace example {

struct options : training_options {
  std::string device = "cpu", precision = "float", model = "small", text, prompt = "/// The ";
  int layers = 2, d_model = 128, heads = 4, context = 128, vocabulary = 256;
  /// The micro-batches of a step. If 0, the search chooses their number, and `batch` is the batch
  /// of a whole step.
  int micro_batches = 1;
  int interleaved = 1;  ///< micro-batches that take turns; with 0, the search chooses the number
  int sample = 0, experts = 0, top = 2, balance_over = 1;
  int kv_heads = 0;  ///< the key heads of a Llama; 0 means the default of its model
  double balance = 0.01, clip = 1.0, dropout = 0.0, weight_decay = 0.01, temperature = 0.7,
         peak_flops = 0;
  /// The tokens of the fullest rank divided by the mean over all ranks, where experts are split.
  /// Only predictions use this number.
  double imbalance = 1;
  bool graph = false, tied = false;

  bool is_llama() const { return model == "llama-small"; }

  ashlar::arithmetic arithmetic() const {
    return precision == "bf16"   ? ashlar::arithmetic::bfloat16
           : precision == "tf32" ? ashlar::arithmetic::tf32
                                 : ashlar::arithmetic::float32;
  }
};

/// Reads the command line. If the program should end, because help was requested or an option is
/// wrong, returns its last output and its exit code.
std::optional<farewell> parse_options(int argc, char** argv, options& o);

}  // namespace example
