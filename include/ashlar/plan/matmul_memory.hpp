// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the peak memory of a plan of the matrix product c = a · b, in bytes per rank, including
// the operands and the result. Shards are counted exactly. packing.hpp gives the size of the
// communication buffers of a redistribution step between MPI processes. Between devices the buffers
// may be larger: up to packing_bound. The peak consists of the operands and the maximum over four
// phases. The formula lists the phases in the order in which a plan runs them:
//
//   a + b + max{ moving a;  a' + moving b;  a' + b' + c';  moving c, from c' }
//
// Each term is a number of bytes:
//
//   a, b       the given operands
//   a', b'     the copies of the operands at the placements that the local product needs; 0 if
//              the operand is already at this placement
//   c'         the result of the local product
//   moving x   the peak during the redistribution of x: in each step, the shards before and
//              after the step and the step's buffers. The given shards of a and b are not
//              included, but c' is.
//
// The result is the peak of rank 0, which has the largest shard of every placement.

#include <ashlar/plan/matmul_plan.hpp>
#include <ashlar/plan/packing.hpp>

namespace ashlar {

constexpr std::int64_t bytes_of(redistribution_plan const& plan, topology const& t,
                                placement const& p) {
  return max_local_elements(plan.extents, t, p) * plan.element_size;
}

/// Returns the peak of the bytes during the steps of `plan`: the shards before and after a step,
/// and its buffer. If `owned` is false, the shard before the first step does not count, because it
/// belongs to the caller, as the operands of a product do. If `owned` is true, that shard counts.
/// `owned` is true for c', the result of the local product, which is a temporary.
constexpr std::int64_t moving_bytes(redistribution_plan const& plan, topology const& t,
                                    bool owned) {
  std::int64_t most = owned ? bytes_of(plan, t, plan.from) : 0;
  for (int i = 0; i < plan.steps.size(); ++i) {
    redistribution_step const& s = plan.steps[i];
    std::int64_t const held = (owned || i > 0 ? bytes_of(plan, t, s.from) : 0) +
                              bytes_of(plan, t, s.to) +
                              packing_bytes(s, plan.extents, plan.element_size, t);
    if (held > most) most = held;
  }
  return most;
}

/// Returns the bytes of the result of `plan`, or 0 if `plan` has no steps.
constexpr std::int64_t made_bytes(redistribution_plan const& plan, topology const& t) {
  return plan.steps.empty() ? 0 : bytes_of(plan, t, plan.to);
}

/// Returns the peak memory of a plan without panels: the given operands plus the largest of the
/// four phases (moving a, moving b, local product, moving c).
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
