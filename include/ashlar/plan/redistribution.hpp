// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a redistribution, as data: the cheapest sequence of steps from one placement to
// another.
//
//   plan_redistribution(extents, element_size, from, to, topology, machine)
//
// If both placements are partial with different reductions, the plan goes through a placement that
// is not partial, since sums and maxima do not commute. If `from` or `to` is owned on an axis, the
// search has no lower bounds of the remaining cost, because role_distances.hpp does not compute
// them for owned axes.

#include <ashlar/config.hpp>
#include <ashlar/plan/role_distances.hpp>

namespace ashlar {

struct redistribution_plan {
  shape extents;
  int element_size = 0;
  placement from;
  placement to;
  inplace_vector<redistribution_step, 4 * max_axes> steps;
  double seconds = 0;           ///< predicted seconds
  std::int64_t peak_bytes = 0;  ///< most bytes of the shards before and after a step together
  wire_format wire{};           ///< the wire of encoded steps (encoded_redistribution.hpp)

  /// Returns the bytes that the rank at coordinates `c` receives.
  constexpr std::int64_t received_bytes(topology const& t, coordinates const& c) const {
    std::int64_t bytes = 0;
    for (auto const& s : steps)
      bytes += step_traffic(s, extents, t, c).elements * s.unit_bytes(element_size);
    return bytes;
  }
  constexpr bool is_local() const {
    for (auto const& s : steps)
      if (communicates(s.kind)) return false;
    return true;
  }
  friend constexpr bool operator==(redistribution_plan const&,
                                   redistribution_plan const&) = default;
};

namespace detail {

/// Computes the seconds and the peak memory of a plan from its steps.
constexpr void finish(redistribution_plan& plan, topology const& t, machine const& m) {
  plan.seconds = 0;
  shard_range before = shards_of(plan.extents, t, plan.from);
  plan.peak_bytes = before.largest.elements() * plan.element_size;
  for (auto const& s : plan.steps) {
    shard_range const after = shards_of(plan.extents, t, s.to);
    plan.seconds += step_seconds(s, plan.extents, plan.element_size, t, m, before, after);
    std::int64_t most = before.largest.elements() + after.largest.elements();
    // If the step moves a tensor to or from an owner, the rank with the largest shard before the
    // step may be another one than after it. Then no rank has both of these shards.
    coordinates const full = fullest_rank(s.from), full_after = fullest_rank(s.to);
    if (full != full_after) {
      auto const both = [&](coordinates const& c) {
        return local_box(plan.extents, t, s.from, c).elements() +
               local_box(plan.extents, t, s.to, c).elements();
      };
      std::int64_t const one = both(full), other = both(full_after);
      most = one > other ? one : other;
    }
    if (most * plan.element_size > plan.peak_bytes) plan.peak_bytes = most * plan.element_size;
    before = after;
  }
}

/// Returns the placement `p` with all partial axes replaced by broadcast.
constexpr placement reduced(placement p) {
  for (auto& a : p.axis)
    if (a.is_partial()) a = broadcast();
  return p;
}

/// The heuristic of the A* search (path_search.hpp): returns a lower bound of the cost from a
/// placement to the target. If the start and the target are partial with different reductions, the
/// path goes through a placement without P.
struct remaining_path {
  role_distances const* to_target;  ///< distances to the target, or null for a bound of 0
  /// Distances to the target through a placement without P. Null if the reduction does not change.
  role_distances const* to_whole;
  reduction op;  ///< the reduction of the target

  constexpr double operator()(placement const& p, axis_roles const& roles) const {
    if (to_target == nullptr) return 0;
    bool const before = to_whole != nullptr && !(p.has_partial() && p.op() == op);
    return (before ? *to_whole : *to_target)(to_target->state(roles));
  }
};

constexpr redistribution_plan cheapest_redistribution(shape const& extents, int element_size,
                                                      placement const& from, placement const& to,
                                                      topology const& t, machine const& m) {
  redistribution_plan plan{extents, element_size, from, to, {}, 0, 0};
  if (!(from == to)) {
    bool const reductions_differ = from.has_partial() && to.has_partial() && from.op() != to.op();
    step_prices const price(extents, element_size, t, m);
    role_distances to_target(t, extents.rank(), price), to_whole(t, extents.rank(), price);
    bool const bounded = !from.has_owned() && !to.has_owned();
    if (bounded) {
      int const start = to_target.state(axis_roles(from));
      int const end = to_target.state(axis_roles(to));
      to_target.find(end, reductions_differ ? -1 : start);
      if (reductions_differ) to_whole.find_through_whole(to_target, start);
    }
    reduction const op = to.has_partial() ? to.op() : from.op();
    path_search paths(t, extents.rank(), op, reductions_differ ? from.op() : op, price, to);
    int const found = paths.run(
        from,
        remaining_path{bounded ? &to_target : nullptr, reductions_differ ? &to_whole : nullptr, op},
        [&](int i) { return paths.state(i) == to; });
    if (found < 0)
      throw std::invalid_argument(
          "plan_redistribution: these are not two placements of one tensor");
    paths.append_path(plan.steps, found);
  }
  finish(plan, t, m);
  return plan;
}

#if ASHLAR_COMPILED
redistribution_plan redistribution_at_run_time(shape const& extents, int element_size,
                                               placement const& from, placement const& to,
                                               topology const& t, machine const& m);
#endif

}  // namespace detail

/// Returns the cheapest plan from `from` to `to`. Expects placements that `check` accepts.
constexpr redistribution_plan plan_redistribution(shape const& extents, int element_size,
                                                  placement const& from, placement const& to,
                                                  topology const& t, machine const& m) {
  ASHLAR_RETURN(detail::cheapest_redistribution(extents, element_size, from, to, t, m),
                detail::redistribution_at_run_time(extents, element_size, from, to, t, m));
}

}  // namespace ashlar
