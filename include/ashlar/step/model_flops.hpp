// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The floating-point operations that a training step requires, regardless of which rank executes
// them and how often. The model flops utilization is computed from these operations (Chowdhery et
// al. 2022, PaLM, appendix B).
//
//   per layer      the operations of its forward GEMMs, and at most twice as many for the backward
//                  pass, since each GEMM has two gradients
//   not counted    recomputation (of segments, and of attention's scores in its backward pass),
//                  work that several ranks repeat, and all operations outside GEMMs
//
// For causal attention only half of the scores count, since the other half is not computed. The
// formula of PaLM counts all scores, which makes its result for the smallest GPT-2 at 1,024 tokens
// about 7 % larger.

#include <algorithm>

#include <ashlar/step/problem.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns the floating-point operations of one step, for all micro-batches and all ranks together.
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
