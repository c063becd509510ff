// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Bytes that the fullest rank holds under a plan. |p| is the largest shard of a placement:
//
//   memory     = Σ elements kept + max over elements of gathered
//   kept       = saved_values · fraction  +  Σ parameters (2 + optimizer_states) · |store|
//                                                       + |grad| where grad is not store
//   gathered   = |x| + |y| + |dx| + |dy|  +  Σ parameters |use| where use is not store
//
// times the element size. (2: the value and its gradient. Where the gradient is not left as it is
// stored, it is summed over the micro-batches in place, so both exist.) Activations of one
// micro-batch are alive at a time, so their number does not matter. `fraction` is that of work.hpp.
// Buffers of collectives are not counted.

#include <ashlar/layout/layout.hpp>
#include <ashlar/search/work.hpp>

namespace ashlar::search {

struct element_memory {
  std::int64_t kept = 0;      ///< bytes, for the whole step
  std::int64_t gathered = 0;  ///< bytes, while the element runs: activations and parameters in use
};

/// What one element adds to the two parts of the memory of its rank.
template <int N>
constexpr element_memory memory_of(basic_problem<N> const& net, layer_spec const& spec,
                                   layer_choice const& c, topology const& t) {
  element_memory bytes;
  if (spec.saved_values > 0) {
    double const saved = spec.saved_values * work_fraction(spec, c, t) * double(net.element_size);
    bytes.kept = static_cast<std::int64_t>(saved);
    if (double(bytes.kept) < saved) ++bytes.kept;
  }
  std::int64_t const x = max_local_elements(spec.x, t, c.x);
  bytes.gathered += (x + max_local_elements(spec.y, t, c.y) + max_local_elements(spec.x, t, c.dx) +
                     max_local_elements(spec.y, t, c.dy)) *
                    net.element_size;
  for (int k = 0; k < spec.parameters.size(); ++k) {
    parameter_choice const& p = c.parameters.items[k];
    shape const& extents = spec.parameters.items[k].extents;
    std::int64_t const store = max_local_elements(extents, t, p.store);
    bytes.kept += (2 + net.optimizer_states) * store * net.element_size;
    if (!(p.grad == p.store))
      bytes.kept += max_local_elements(extents, t, p.grad) * net.element_size;
    if (!(p.use == p.store))
      bytes.gathered += max_local_elements(extents, t, p.use) * net.element_size;
  }
  return bytes;
}

/// Bytes per rank of a plan's choices.
template <int N>
constexpr std::int64_t memory_per_rank(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  std::int64_t kept = 0, gathered = 0;
  for (int i = 0; i < net.size(); ++i) {
    auto const part = memory_of(net, net.spec(i), chosen[i], chosen.mesh);
    kept += part.kept;
    if (part.gathered > gathered) gathered = part.gathered;
  }
  return kept + gathered;
}

}  // namespace ashlar::search
