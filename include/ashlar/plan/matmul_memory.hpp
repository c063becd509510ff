// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory of a matrix product's plan: the most bytes that a rank holds at once, from the
// operands as given to the result. Shards are counted exactly. A step's buffers are counted as if it
// travelled in messages (between neighbours in one node it needs none), in rounds of chunks, two of
// them under way, of `block` elements that pass between two of p ranks:
//
//   min(rounds, 2) · 2 p · min(chunk, block)      rounds: block / chunk, rounded up
//
//   all_gather                   none if the dims before the gathered one are 1: blocks are runs
//   permute of two whole shards  none
//   slice, zero_pad              none
//
// In the order in which a plan runs, x' being where the local product wants x (0 bytes if x lies
// so), "moving" the shards before and after a step and its buffer, without x as given:
//
//   a + b + max{ moving a;  a' + moving b;  a' + b' + c';  moving c, from c' }
//
// Rank 0 has the largest shard of every placement, so the figure is rank 0's.

#include <ashlar/plan/matmul_plan.hpp>

namespace ashlar {

constexpr std::int64_t bytes_of(redistribution_plan const& plan, topology const& t,
                                placement const& p) {
  return max_local_elements(plan.extents, t, p) * plan.element_size;
}

/// What a transport packs at a time for one other rank, at most.
inline constexpr std::int64_t packing_chunk_bytes = 256 * 1024;

/// The bound of a step's buffers, in bytes.
constexpr std::int64_t packing_bytes(step const& s, shape const& extents, int element_size,
                                     topology const& t) {
  if (!communicates(s.kind) || (s.kind == collective::permute && is_pairwise(s, t))) return 0;
  box const from = local_box(extents, t, s.from, {}), to = local_box(extents, t, s.to, {});
  int const p = t.group_size(s.axes);
  if (s.kind == collective::all_gather) {
    bool runs = true;
    for (int d = 0; d < s.from[s.axes[0]].dim; ++d) runs = runs && to[d].size == 1;
    if (runs) return 0;
  }
  std::int64_t block = element_size;
  for (int d = 0; d < from.rank(); ++d)
    block *= from[d].size < to[d].size ? from[d].size : to[d].size;
  if (s.kind == collective::all_reduce && !arrays_cross(p, from.elements()))
    block = (block + p - 1) / p;
  return 2 * p * (block <= packing_chunk_bytes ? block : 2 * packing_chunk_bytes);
}

/// The most bytes of the steps' shards and buffers; the first shard counts if it is `owned`, that
/// is, not the caller's.
constexpr std::int64_t moving_bytes(redistribution_plan const& plan, topology const& t,
                                    bool owned) {
  std::int64_t most = owned ? bytes_of(plan, t, plan.from) : 0;
  for (int i = 0; i < plan.steps.size(); ++i) {
    step const& s = plan.steps[i];
    std::int64_t const held = (owned || i > 0 ? bytes_of(plan, t, s.from) : 0) +
                              bytes_of(plan, t, s.to) +
                              packing_bytes(s, plan.extents, plan.element_size, t);
    if (held > most) most = held;
  }
  return most;
}

/// Bytes of what the steps make; 0 if there are none.
constexpr std::int64_t made_bytes(redistribution_plan const& plan, topology const& t) {
  return plan.steps.empty() ? 0 : bytes_of(plan, t, plan.to);
}

/// The formula above, of a plan that does not stream.
constexpr std::int64_t whole_peak_bytes(matmul_plan const& plan, topology const& t) {
  std::int64_t const a = made_bytes(plan.a, t), b = made_bytes(plan.b, t);
  std::int64_t most = 0;
  for (std::int64_t const held :
       {moving_bytes(plan.a, t, false), a + moving_bytes(plan.b, t, false),
        a + b + bytes_of(plan.c, t, plan.c.from), moving_bytes(plan.c, t, true)})
    if (held > most) most = held;
  return bytes_of(plan.a, t, plan.a.from) + bytes_of(plan.b, t, plan.b.from) + most;
}

}  // namespace ashlar
