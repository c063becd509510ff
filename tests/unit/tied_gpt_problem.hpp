// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small GPT with tied embeddings under data parallelism, for tests of its synchronization.

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/tied.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {

struct tied_gpt_problem {
  ashlar::search::problem net = any_length(ashlar::nn::describe<float>(
      ashlar::nn::tied(ashlar::nn::embedding(12, 8),
                       ashlar::nn::repeat(2, ashlar::nn::gpt_block(8, 2)),
                       ashlar::nn::output_embedding(8, 12)),
      ashlar::nn::token_batch{4, 4, 2}));
  ashlar::topology mesh{{"gpu", 4}};
  ashlar::machine machine = ashlar::machines::workstation;
  ashlar::search::plan plain = ashlar::search::data_parallel(net, mesh, machine);
};

}  // namespace ashlar_test
