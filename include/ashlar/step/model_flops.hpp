// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The floating-point operations that a training step needs, whoever does them and however often: what a model
// flops utilization counts (Chowdhery et al. 2022, PaLM, appendix B).
//
//   of a layer     its forward products, and at most twice as many backward: two gradients of each
//   not counted    what is computed again (recomputed segments, attention's scores in its backward pass),
//                  what ranks repeat, and what is no product
//
// Half of the scores count where attention is causal, as only those are made; PaLM counts all of them, which
// makes its figure for GPT-2 at 1,024 tokens about 6 % larger.

#include <algorithm>

#include <ashlar/step/problem.hpp>

namespace ashlar::search {
inline namespace step {

/// Of one step, all micro-batches and all ranks together.
template <int N>
constexpr double model_flops(basic_problem<N> const& net) {
  double flops = 0;
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].kind != element_kind::layer) continue;
    auto const& spec = net.spec(i);
    flops += spec.forward_flops + std::min(spec.backward_flops, 2 * spec.forward_flops);
  }
  return flops * net.micro_batches;
}

}  // namespace step
}  // namespace ashlar::search
