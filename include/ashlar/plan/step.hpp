// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One step of a plan: a move along a list of axes that takes a tensor from one placement to the
// next. The step says what moves and what it costs; tensor/ runs it and comm/ carries it.
//
//   all_gather      the innermost axes of a dim become B
//   reduce_scatter  P axes become the innermost splits of a dim
//   all_reduce      P axes become B
//   all_to_all      the innermost axes of one dim become the innermost of another
//   permute         two axes of one extent exchange their roles, or two neighbouring axes of one
//                   dim their order
//   slice           a B axis becomes the innermost split of a dim: each rank keeps its part
//   zero_pad        the innermost axis of a dim, or a B axis, becomes P: the value in one place,
//                   the reduction's identity in the others

#include <ashlar/layout/layout.hpp>
#include <ashlar/machine/link.hpp>

namespace ashlar {

struct step {
  collective kind = collective::slice;
  axis_list axes;  ///< outermost first
  placement from;
  placement to;

  friend constexpr bool operator==(step const&, step const&) = default;
};

/// Whether a permute is a plain exchange between pairs of ranks. Only a change of order between
/// axes of different extents is not: nested balanced splits then cut in other places.
constexpr bool is_pairwise(step const& s, topology const& t) {
  return t.extent(s.axes[0]) == t.extent(s.axes[1]);
}

/// The coordinates whose data a pairwise permute brings to `c`.
constexpr coordinates permute_partner(step const& s, coordinates c) {
  auto const a = static_cast<std::size_t>(s.axes[0]);
  auto const b = static_cast<std::size_t>(s.axes[1]);
  int const swapped = c[a];
  c[a] = c[b];
  c[b] = swapped;
  return c;
}

/// What the rank at `c` receives in a step, exactly.
constexpr traffic step_traffic(step const& s, shape const& extents, topology const& t,
                               coordinates const& c) {
  box const from = local_box(extents, t, s.from, c);
  box const to = local_box(extents, t, s.to, c);
  int const p = t.group_size(s.axes);
  if (s.kind == collective::permute && is_pairwise(s, t)) {
    if (p == 1 || permute_partner(s, c) == c) return {};
    return {1, to.elements()};
  }
  traffic load = collective_traffic(s.kind, p, from.elements(), to.elements(),
                                    intersect(from, to).elements(), t.index_in_group(c, s.axes));
  if (s.kind == collective::permute) load.messages = p - 1;
  return load;
}

/// What the busiest rank receives, as the cost model sees it: the rank with the largest shards,
/// which keeps nothing in a permute. `from`, `to`, `kept`: elements at coordinate 0.
constexpr traffic priced_traffic(step const& s, topology const& t, std::int64_t from,
                                 std::int64_t to, std::int64_t kept) {
  int const p = t.group_size(s.axes);
  if (s.kind == collective::permute) {
    traffic load = collective_traffic(s.kind, p, from, to, 0, 0);
    if (!is_pairwise(s, t)) load.messages = p - 1;
    return load;
  }
  return collective_traffic(s.kind, p, from, to, kept, 0);
}

/// Seconds of a step on a tensor of the given extents.
constexpr double step_seconds(step const& s, shape const& extents, int element_size,
                              topology const& t, machine const& m) {
  box const from = local_box(extents, t, s.from, coordinates{});
  box const to = local_box(extents, t, s.to, coordinates{});
  return seconds(
      m, t, s.axes, s.kind,
      priced_traffic(s, t, from.elements(), to.elements(), intersect(from, to).elements()),
      element_size);
}

}  // namespace ashlar
