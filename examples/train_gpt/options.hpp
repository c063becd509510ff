// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// What train_gpt can be told on its command line.
//
//   --device   --precision   activations   products on       parameters
//   cpu        float         float         all bits          float
//   cuda       float         float         all bits          float
//   cuda       tf32          float         11 bits of each   float
//   cuda       bf16          bfloat16      bfloat16          float, and a bfloat16 copy in use

#pragma once

#include <ashlar/machine/peak.hpp>

#include "../support/training_options.hpp"

namespace example {

struct options : training_options {
  std::string device = "cpu", precision = "float", model = "small", text, prompt = "/// The ";
  int layers = 2, d_model = 128, heads = 4, context = 128, vocabulary = 256, micro_batches = 1;
  int sample = 0;
  double clip = 1.0, dropout = 0.0, weight_decay = 0.01, temperature = 0.7, peak_flops = 0;
  bool graph = false;

  ashlar::arithmetic arithmetic() const {
    return precision == "bf16"   ? ashlar::arithmetic::bfloat16
           : precision == "tf32" ? ashlar::arithmetic::tf32
                                 : ashlar::arithmetic::float32;
  }
};

/// Reads the command line; a farewell if the program has nothing more to do.
std::optional<farewell> parse_options(int argc, char** argv, options& o);

}  // namespace example
