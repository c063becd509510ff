// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::generator: a net that generates maps ids [batch, seq] to logits [batch, seq, vocabulary], such as nn::gpt and nn::llama.

// A net whose inputs are features instead of token ids cannot generate tokens.

#include <ashlar/nn/generator.hpp>
#include <ashlar/nn/gpt.hpp>

namespace nn = ashlar::nn;

void generate(ashlar::mesh const& m, ashlar::search::plan const& plan) {
#ifdef ASHLAR_CONTROL
  auto const net = nn::gpt({1, 8, 2, 11});
#else
  auto const net = nn::chain(nn::linear(8, 8), nn::gelu(), nn::linear(8, 11));
#endif
  auto model = nn::place<float>(net, m, plan);
  nn::generator g(net, model, {.most_tokens = 4});
}
