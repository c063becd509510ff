// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans of redistributions whose steps have a wire (wire.hpp).
//
//   step of the plan with the fewest bytes   step of the encoded plan
//   reduce_scatter of sums, all_gather       the same step with the wire
//   all_reduce of sums                       reduce_scatter and all_gather, both with the wire
//   any other                                the same step, exact
//
// With the wire power_sgd, all steps stay exact if the two factors of a rank's matrix together have
// at least half of its elements. If they have fewer, each factor is summed by one all_reduce along
// all axes of the sum. Exact steps from the sum to the target follow. They are slices if the target
// is split.
//
// The reduce_scatter that replaces an all_reduce splits the dim by which the largest shard becomes
// smallest. A tensor without dims cannot be split, so its all_reduce stays exact. The steps do not
// depend on the machine, so the memory for errors does not depend on it either. Only the seconds
// do.

#include <ashlar/plan/packing.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

namespace detail {

/// Returns `p` with the axes of an all_reduce, which are partial in `p`, as the innermost splits of
/// one dim. Chooses the dim for which the largest shard is smallest. Expects at least one dim.
constexpr placement scattered(placement const& p, axis_list const& axes, shape const& extents,
                              topology const& t) {
  placement best;
  std::int64_t least = 0;
  for (int d = 0; d < extents.rank(); ++d) {
    placement at = p;
    for (auto const a : axes) at.axis[a] = broadcast();
    for (auto const a : axes) at = at.with_split(a, d);
    std::int64_t const most = max_local_elements(extents, t, at);
    if (d == 0 || most < least) {
      best = at;
      least = most;
    }
  }
  return best;
}

/// Returns `p` with B in place of each partial sum on an axis of several ranks, unless `to` is
/// partial on this axis. Appends these axes to `axes`.
constexpr placement summed(placement const& p, placement const& to, topology const& t,
                           axis_list& axes) {
  placement whole = p;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial() && p[a].op == reduction::sum && !to[a].is_partial() && t.extent(a) > 1) {
      whole.axis[a] = broadcast();
      axes.push_back(static_cast<signed char>(a));
    }
  return whole;
}

/// Returns whether a matrix travels as two factors. It does if they have less than half of its
/// elements.
constexpr bool saves_half(factor_extents const& f) {
  return f.rank > 0 && 2 * f.rank * (f.rows + f.columns) < f.elements();
}

}  // namespace detail

/// Returns why the gradient or tensor at placement `from` cannot have a wire, or null if it can.
constexpr char const* wire_fault(wire_format const& wire, shape const& extents,
                                 placement const& from, topology const& t) {
  if (char const* const wrong = number_fault(wire)) return wrong;
  if (wire.kind == wire_kind::top_k && extents.elements() > std::int64_t{1} << 32)
    return "the wire top_k numbers elements with 32 bits, but this tensor has more than 2^32. Use "
           "another wire.";
  if (!wire.is_factored() || extents.rank() < 2) return nullptr;
  auto const f = largest_factors(extents, t, from, wire);
  return f.rank < wire.rank && f.elements() > 0
             ? "the rank of power-sgd is above the number of rows or columns of the matrix that a "
               "rank has. Give a lower rank."
             : nullptr;
}

/// Returns the plan from `from` to `to` whose steps have the wire `wire`. If the wire is exact,
/// this is plan_redistribution. Expects placements that `check` accepts, and elements of type
/// float.
constexpr redistribution_plan plan_encoded(shape const& extents, int element_size,
                                           placement const& from, placement const& to,
                                           wire_format const& wire, topology const& t,
                                           machine const& m) {
  if (wire.is_exact()) return plan_redistribution(extents, element_size, from, to, t, m);
  machine without_latency;
  without_latency.intra.alpha = without_latency.inter.alpha = 0;
  auto const fewest = plan_redistribution(extents, element_size, from, to, t, without_latency);
  redistribution_plan plan = fewest;
  plan.wire = wire;
  if (wire.is_factored()) {
    axis_list axes;
    placement const whole = detail::summed(from, to, t, axes);
    if (!axes.empty() && extents.rank() > 1 &&
        detail::saves_half(largest_factors(extents, t, from, wire))) {
      plan.steps = {};
      plan.steps.push_back({collective::all_reduce, axes, from, from, wire});
      plan.steps.push_back({collective::all_reduce, axes, from, whole, wire});
      for (auto const& s :
           plan_redistribution(extents, element_size, whole, to, t, without_latency).steps)
        plan.steps.push_back(s);
    }
    detail::finish(plan, t, m);
    return plan;
  }
  plan.steps = {};
  for (auto s : fewest.steps) {
    bool const is_sum = s.from.has_partial() && s.from.op() == reduction::sum;
    if (t.group_size(s.axes) == 1 || (reduces(s.kind) && !is_sum)) {
      plan.steps.push_back(s);
    } else if (s.kind == collective::all_reduce && extents.rank() > 0) {
      placement const between = detail::scattered(s.from, s.axes, extents, t);
      plan.steps.push_back({collective::reduce_scatter, s.axes, s.from, between, wire});
      plan.steps.push_back({collective::all_gather, s.axes, between, s.to, wire});
    } else {
      if (s.kind == collective::reduce_scatter || s.kind == collective::all_gather) s.wire = wire;
      plan.steps.push_back(s);
    }
  }
  detail::finish(plan, t, m);
  return plan;
}

/// Returns how many numbers the busiest rank keeps between two runs of a step. If the wire has
/// error feedback, these are the errors of all elements that the rank encodes. Without error
/// feedback, the rank keeps none. With the wire power_sgd and error feedback, the first step keeps
/// the second factor, and the second step keeps the errors.
constexpr std::int64_t kept_elements(redistribution_step const& s, shape const& extents,
                                     topology const& t) {
  if (!s.wire.feedback) return 0;
  return s.sums_first_factor() ? largest_factors(extents, t, s.from, s.wire).second()
                               : max_local_elements(extents, t, s.from);
}

/// Returns how many numbers the busiest rank keeps for the averages of a plan whose wire has
/// momentum: an average for each element, and the number of steps that the averages cover.
constexpr std::int64_t averaged_elements(redistribution_plan const& plan, topology const& t) {
  return plan.wire.momentum ? max_local_elements(plan.extents, t, plan.from) + 1 : 0;
}

/// Returns the bytes that a rank keeps between two runs of a plan with error feedback.
constexpr std::int64_t error_bytes(redistribution_plan const& plan, topology const& t) {
  std::int64_t elements = averaged_elements(plan, t);
  for (auto const& s : plan.steps) elements += kept_elements(s, plan.extents, t);
  return elements * plan.element_size;
}

/// Returns the bytes of a rank's buffers in an encoded step: an array for the elements of one
/// block, before they are encoded or after they are decoded; for top-k, a second array for the
/// selection; and the blocks that the rank sends and receives. With the wire power_sgd, the buffers
/// are both factors, the sum of one of them, the source and the target of this sum in a bucket, and
/// what the transport packs. Error feedback adds a buffer for the matrix plus its errors.
constexpr std::int64_t coding_bytes(redistribution_step const& s, shape const& extents,
                                    int element_size, topology const& t) {
  int const p = t.group_size(s.axes);
  if (s.wire.is_factored()) {
    auto const f = largest_factors(extents, t, s.from, s.wire);
    std::int64_t const summed = f.summed_by(s);
    std::int64_t const elements = f.first() + f.second() + 3 * summed +
                                  (s.wire.feedback ? f.elements() : 0);
    return elements * element_size +
           packing_of_sum(summed * element_size, arrays_cross(p, summed), p);
  }
  std::int64_t const from = max_local_elements(extents, t, s.from);
  std::int64_t const to = max_local_elements(extents, t, s.to);
  bool const gathers = s.kind == collective::all_gather;
  std::int64_t const block = gathers ? from : to;
  int const arrays = s.wire.kind == wire_kind::top_k ? 2 : 1;
  return arrays * block * element_size + s.wire.bytes(block) * (p + (gathers ? 1 : p));
}

/// Returns the most bytes that a rank needs while an encoded plan runs, in addition to its source.
constexpr std::int64_t encoded_moving_bytes(redistribution_plan const& plan, topology const& t) {
  std::int64_t most = 0;
  for (auto const& s : plan.steps) {
    std::int64_t const from = max_local_elements(plan.extents, t, s.from) * plan.element_size;
    std::int64_t const to = max_local_elements(plan.extents, t, s.to) * plan.element_size;
    std::int64_t bytes = s.wire.is_exact() ? packing_bound(from > to ? from : to, t.ranks())
                                           : coding_bytes(s, plan.extents, plan.element_size, t);
    // A factored step reads the source. Only the second factored step makes a tensor.
    if (s.wire.is_factored()) bytes += s.sums_first_factor() ? 0 : to;
    else bytes += to + (&s == &plan.steps[0] ? 0 : from);
    if (bytes > most) most = bytes;
  }
  return most;
}

}  // namespace ashlar
