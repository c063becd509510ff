// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a redistribution from one part of a mesh to another, as data: steps on the source,
// one crossing (plan/crossing/crossing.hpp), steps on the target.
//
//   plan_cross_mesh(extents, element_size, source, from, target, to, whole, machine)
//
// It is the cheapest of all such plans: a shortest path through the placements of the source, the
// crossings between every two placements that are not partial, and the placements of the target. So
// it finds by cost whether to send each shard once and gather it on the target, whether to reduce
// before the crossing, and whether to slice first, so that more nodes send.
//
// Most crossings are not worked out: pairs of placements are tried in the order of a lower bound,
// the steps on both sides plus the largest of what one node must receive, what the nodes of the
// source must send, and one message.

#include <ashlar/plan/crossing/crossing.hpp>
#include <ashlar/plan/placement_graph.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

struct cross_mesh_plan {
  mesh_part source, target;
  redistribution_plan before, after;  ///< the steps on the source and on the target
  crossing across;                    ///< from before.to to after.from
  double seconds = 0;

  friend constexpr bool operator==(cross_mesh_plan const&, cross_mesh_plan const&) = default;
};

namespace detail {

/// The placements of a tensor on one side of a crossing that are not partial, each with the seconds
/// of the steps between it and a given placement.
class crossing_side {
 public:
  struct state {
    placement at;
    double seconds = 0;  ///< of the steps
    double least = 0;    ///< seconds that every crossing from or to this placement takes
  };

  constexpr crossing_side(shape const& extents, int element_size, mesh_part const& part,
                          placement const& end, bool is_source, machine const& m) {
    placement_graph const graph(extents.rank(), part.axes, end.op());
    auto const cost = graph.price(extents, element_size, m);
    int const at = graph.find(end);
    if (at < 0)
      throw std::invalid_argument("plan_cross_mesh: this is not a placement of the tensor");
    auto const paths = is_source ? graph.shortest_from(at, cost) : graph.shortest_to(at, cost);
    for (int i = 0; i < graph.states(); ++i)
      if (!graph.state(i).has_partial() && paths.weight.data()[i] < unreachable)
        states_.push_back({graph.state(i), paths.weight.data()[i], 0});
    std::sort(states_.begin(), states_.end(),
              [](state const& a, state const& b) { return a.seconds < b.seconds; });
  }

  constexpr std::vector<state>& states() { return states_; }

 private:
  std::vector<state> states_;
};

/// Returns the most elements that a node of the part must receive, or on the source the least that
/// its busiest node can send, if no node has ranks of both parts.
constexpr std::int64_t least_per_node(shape const& extents, mesh_part const& part,
                                      placement const& p, bool is_source,
                                      nodes_of_mesh const& nodes) {
  port_problem all{nodes.nodes() + 1, {}};
  int const outside = nodes.nodes();
  for (auto const& t : tiles(extents, part, p)) {
    auto const own = nodes.of(t.ranks);
    if (is_source) all.tasks.push_back({t.region.elements(), own, {outside}});
    else all.tasks.push_back({t.region.elements(), {outside}, own});
  }
  if (is_source) return share_senders(all, 0).bound;
  std::int64_t most = 0;
  for (int n = 0; n < nodes.nodes(); ++n) most = std::max(most, all.received(n));
  return most;
}

}  // namespace detail

/// Returns the cheapest plan. Expects placements that `check` accepts, on parts of `whole` without
/// common ranks.
constexpr cross_mesh_plan plan_cross_mesh(shape const& extents, int element_size,
                                          mesh_part const& source, placement const& from,
                                          mesh_part const& target, placement const& to,
                                          topology const& whole, machine const& m) {
  detail::nodes_of_mesh const nodes(whole);
  bool apart = true;
  for (int const a : nodes.of(source.ranks))
    for (int const b : nodes.of(target.ranks)) apart = apart && a != b;

  detail::crossing_side before(extents, element_size, source, from, true, m);
  detail::crossing_side after(extents, element_size, target, to, false, m);
  double const message = extents.elements() == 0 ? 0 : std::min(m.inter.alpha, m.intra.alpha);
  if (apart)
    for (auto* const side : {&before, &after}) {
      auto const& part = side == &before ? source : target;
      for (auto& s : side->states())
        s.least = double(detail::least_per_node(extents, part, s.at, side == &before, nodes)) *
                  element_size * m.inter.beta;
    }

  struct pair {
    double bound;
    int before, after;
  };
  std::vector<pair> pairs;
  for (std::size_t i = 0; i < before.states().size(); ++i)
    for (std::size_t j = 0; j < after.states().size(); ++j) {
      auto const &a = before.states().data()[i], &b = after.states().data()[j];
      pairs.push_back({a.seconds + b.seconds + std::max(a.least, b.least) + message,
                       static_cast<int>(i), static_cast<int>(j)});
    }
  std::sort(pairs.begin(), pairs.end(), [](pair const& a, pair const& b) {
    return a.bound != b.bound                         ? a.bound < b.bound
           : a.before + a.after != b.before + b.after ? a.before + a.after < b.before + b.after
                                                      : a.before < b.before;
  });

  cross_mesh_plan best;
  placement sent, received;
  double seconds = unreachable;
  for (auto const& p : pairs) {
    if (p.bound >= seconds) break;
    auto const &a = before.states().data()[p.before], &b = after.states().data()[p.after];
    auto c = plan_crossing(extents, element_size, source, a.at, target, b.at, whole, m);
    double const sum = a.seconds + c.seconds + b.seconds;
    if (sum >= seconds) continue;
    seconds = sum;
    best.across = static_cast<crossing&&>(c);
    sent = a.at;
    received = b.at;
  }
  best.source = source;
  best.target = target;
  best.before = plan_redistribution(extents, element_size, from, sent, source.axes, m);
  best.after = plan_redistribution(extents, element_size, received, to, target.axes, m);
  best.seconds = best.before.seconds + best.across.seconds + best.after.seconds;
  return best;
}

}  // namespace ashlar
