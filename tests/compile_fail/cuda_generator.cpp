// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::generator: generation with a cache runs on the host only. Place the net on an ashlar::mesh.

// On a mesh of GPU ranks, layers cannot keep the cache of earlier tokens that a generator needs.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/nn/generator.hpp>
#include <ashlar/nn/gpt.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
using mesh = ashlar::mesh;
#else
using mesh = ashlar::nccl::mesh;
#endif

void generate(mesh const& m, ashlar::search::plan const& plan) {
  auto const net = nn::gpt({1, 8, 2, 11});
  auto model = nn::place<float>(net, m, plan);
  nn::generator g(net, model, {.most_tokens = 4});
}
