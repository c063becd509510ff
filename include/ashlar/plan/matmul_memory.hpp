// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory of a matrix product's plan: the most bytes that a rank holds at once, including the
// operands and the result. Shards are counted exactly, and a step's buffers as packing.hpp says.
//
// In the formula, x' is the operand x at the placement that the local product needs (0 bytes if x
// has it already), and c' is the result of the local product. "moving x" is the most bytes of the
// shards before and after one of its steps and of the step's buffer, without x itself; moving c
// includes c'. The four terms follow the order in which a plan runs:
//
//   a + b + max{ moving a;  a' + moving b;  a' + b' + c';  moving c, from c' }
//
// Rank 0 has the largest shard of every placement, so the figure is rank 0's.

#include <ashlar/plan/matmul_plan.hpp>
#include <ashlar/plan/packing.hpp>

namespace ashlar {

constexpr std::int64_t bytes_of(redistribution_plan const& plan, topology const& t,
                                placement const& p) {
  return max_local_elements(plan.extents, t, p) * plan.element_size;
}

/// Returns the most bytes that a rank holds during any step of `plan`: the shards before and after
/// the step, and its buffer. The shard before the first step counts only if `owned` is true. This
/// is so for temporaries such as c', but not for the operands, which belong to the caller.
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

/// Returns the bytes of the shard that the steps of `plan` make, or 0 if there are no steps.
constexpr std::int64_t made_bytes(redistribution_plan const& plan, topology const& t) {
  return plan.steps.empty() ? 0 : bytes_of(plan, t, plan.to);
}

/// Returns the value of the formula above for a plan that does not stream.
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
