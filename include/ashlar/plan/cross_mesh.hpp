// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans a redistribution from one part of a mesh to another (cross_mesh_plan.hpp describes the
// result).
//
//   plan_cross_mesh(extents, element_size, source, from, target, to, whole, machine, choice)
//
// A plan redistributes the tensor on the source to some placement, lets it cross to some placement
// on the target, and redistributes it there to `to`. The result is the cheapest of all these plans.
// So cost decides whether to send each shard once and gather it on the target, whether to reduce
// before the crossing, and whether to slice first, so that more nodes send. With a choice
// (crossing_choice.hpp), the result is the cheapest of the plans that the choice permits.
//
// The addends of a partial source may also cross without being summed first
// (crossing/unit_task.hpp). The tensor then crosses to a placement with equally many addends, from
// which steps on the target lead to `to`. This saves the latencies of a reduction on the source, or
// moves the reduction to the side with faster links. But each addend is as large as the tensor, so
// ranks that share the interface of their node mostly reduce first.
//
// Most crossings need not be planned. Pairs of a source placement and a target placement are tried
// in ascending order of a lower bound of their cost, until the bound reaches the cost of the best
// plan. The bound is the seconds of the steps on both sides plus a lower bound of the seconds of
// the crossing (least_seconds).

#include <string>

#include <ashlar/config.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/plan/cross_mesh_plan.hpp>
#include <ashlar/plan/crossing/plan_crossing.hpp>
#include <ashlar/plan/crossing_choice.hpp>
#include <ashlar/plan/placement_graph.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

namespace detail {

/// Properties of the placement on one part of a mesh, from which lower bounds of a crossing's
/// seconds are computed. Numbers marked "(source)" are used only if this part sends the tensor,
/// those marked "(target)" only if it receives the tensor. A tile is a box of the tensor that a
/// rank holds. `least`, `hops`, `inside` and `passed` are used only if no node has ranks of both
/// parts.
struct crossing_load {
  std::int64_t least = 0;  ///< elements that the busiest node sends (source) or receives (target)
  std::int64_t tile = 0;   ///< the most elements that one rank holds
  std::int64_t most = 0;   ///< the most elements that one node holds
  int hops = 1;            ///< the most nodes that need the same tile (target)
  int inside = 0;          ///< the most ranks of a node that need the same tile, minus 1 (target)
  std::int64_t passed =
      0;  ///< some rank gets at least this many elements from ranks of its node (target)
  std::vector<std::int64_t> held;  ///< elements that each node holds
  std::vector<detail::tile> tiles;
  std::vector<std::vector<int>> nodes;  ///< for each tile: the nodes of its ranks
};

constexpr crossing_load load_of_crossing(shape const& extents, mesh_part const& part,
                                         placement const& p, bool is_source,
                                         nodes_of_mesh const& nodes) {
  int const outside = nodes.nodes();
  port_problem all{nodes.nodes() + 1, {}};
  crossing_load load;
  // At compile time, Clang with libstdc++ 12 cannot evaluate resize.
  load.held.assign(static_cast<std::size_t>(nodes.nodes()), 0);
  scratch<std::int64_t> passed(load.held.size());
  load.tiles = tiles(extents, part, p);
  for (auto const& t : load.tiles) {
    load.nodes.push_back(nodes.of(t.ranks));
    auto const& own = load.nodes.back();
    for (int const n : own) load.held.data()[n] += t.region.elements();
    load.tile = std::max(load.tile, t.region.elements());
    if (is_source) {
      all.tasks.push_back({t.region.elements(), own, {outside}});
      continue;
    }
    load.hops = std::max(load.hops, static_cast<int>(own.size()));
    for (int const n : own) {
      int const others = static_cast<int>(nodes.in_node(t.ranks, n).size()) - 1;
      load.inside = std::max(load.inside, others);
      passed.data()[n] += others * t.region.elements();
    }
  }
  for (int n = 0; n < nodes.nodes(); ++n) {
    auto const ranks = static_cast<std::int64_t>(nodes.in_node(part.ranks, n).size());
    if (ranks > 0) load.passed = std::max(load.passed, passed.data()[n] / ranks);
  }
  for (auto const n : load.held) load.most = std::max(load.most, n);
  load.least = is_source ? share_senders(all, 0).least_load : load.most;
  return load;
}

/// The placements of a tensor on one side of a crossing. Each has the seconds of the steps between
/// it and the given placement. Partial placements are included only if `adds` is true, that is, if
/// addends may cross.
class crossing_side {
 public:
  struct state {
    placement at;
    double seconds = 0;  ///< the seconds of the steps between `at` and the given placement
    int addends = 1;
    crossing_load load;
  };

  constexpr crossing_side(shape const& extents, int element_size, mesh_part const& part,
                          placement const& given, bool is_source, bool adds, reduction op,
                          machine const& m) {
    placement_graph const graph(extents.rank(), part.axes, op);
    auto const cost = graph.price(extents, element_size, m);
    int const at = graph.find(given);
    if (at < 0)
      throw std::invalid_argument("plan_cross_mesh: this is not a placement of the tensor");
    // At compile time, GCC 12 cannot evaluate a conditional expression of these two objects.
    auto const paths = [&] {
      if (is_source) return graph.shortest_from(at, cost);
      return graph.shortest_to(at, cost);
    }();
    for (int i = 0; i < graph.states(); ++i)
      if ((adds || !graph.state(i).has_partial()) && paths.weight.data()[i] < unreachable)
        states_.push_back(
            {graph.state(i), paths.weight.data()[i], addends_of(graph.state(i), part.axes), {}});
    std::sort(states_.begin(), states_.end(),
              [](state const& a, state const& b) { return a.seconds < b.seconds; });
  }

  constexpr std::vector<state>& states() { return states_; }

 private:
  std::vector<state> states_;
};

/// Returns a lower bound of the seconds of every crossing between two placements. `apart` says that
/// no node has ranks of both parts. `sharing` is the largest number of target ranks in one node.
///
/// If `apart` is true, a target node that needs more than any source node holds receives from at
/// least two nodes. If no target node passes data on, these are source nodes, which together hold
/// what the target node needs. Its target ranks, at most `sharing`, share the messages. If `apart`
/// is false, a node receives at least what it needs minus what its source ranks hold.
constexpr double least_seconds(crossing_load const& source, crossing_load const& target,
                               int sharing, bool apart, int element_size, machine const& m) {
  if (target.most == 0) return 0;
  if (!apart) {
    // At best, a rank gets its tile over both links at the same time.
    double const both = m.intra.beta + m.inter.beta;
    double least = std::max(
        std::min(m.inter.alpha, m.intra.alpha),
        both > 0 ? double(target.tile) * element_size * m.intra.beta * m.inter.beta / both : 0);
    for (std::size_t n = 0; n < target.held.size(); ++n) {
      auto const missing = target.held.data()[n] - source.held.data()[n];
      if (missing > 0)
        least = std::max(least, m.inter.alpha + double(missing) * element_size * m.inter.beta);
    }
    return least;
  }
  std::int64_t partners = 1;
  if (source.most > 0 && target.most > source.most)
    partners = target.hops > 1 ? 2 : (target.most + source.most - 1) / source.most;
  double const messages = double((partners + sharing - 1) / sharing);
  crossing_stage const between{target.hops, messages * m.inter.alpha,
                               double(std::max(source.least, target.least)) * element_size *
                                   m.inter.beta};
  crossing_stage const inside{target.inside, m.intra.alpha,
                              double(target.passed) * element_size * m.intra.beta};
  // The slower stage sets the pace of a crossing (chunks.hpp). In place of the longer period, the
  // bound uses the period of the stage between nodes. For this period, the best number of chunks
  // can be computed exactly.
  double const filling = (between.hops - 1) * between.transfer + inside.hops * inside.transfer;
  constexpr int most = 1 << 30;
  int const chunks = between.latency > 0 ? least_product(filling / between.latency, most) : most;
  return (chunks - 1 + between.hops) * between.period(chunks) + inside.hops * inside.period(chunks);
}

/// Returns a second lower bound, in seconds, for two parts with ranks in the same nodes. It
/// compares tiles: what the source ranks of a node lack comes over the node's link to other nodes,
/// and the rest of a rank's tile comes from inside the node.
constexpr double least_seconds_inside(crossing_load const& source, crossing_load const& target,
                                      int element_size, machine const& m) {
  scratch<std::int64_t> missing(target.held.size());
  std::int64_t inside = 0, between = 0;
  for (std::size_t i = 0; i < target.tiles.size(); ++i)
    for (int const n : target.nodes.data()[i]) {
      auto const& wanted = target.tiles.data()[i].region;
      int const addend = target.tiles.data()[i].addend;
      std::int64_t found = 0;
      for (std::size_t k = 0; k < source.tiles.size(); ++k) {
        auto const& own = source.nodes.data()[k];
        if (source.tiles.data()[k].addend == addend &&
            std::find(own.begin(), own.end(), n) != own.end())
          found += intersect(wanted, source.tiles.data()[k].region).elements();
      }
      inside = std::max(inside, found);
      between = std::max(between, missing.data()[n] += wanted.elements() - found);
    }
  auto const seconds = [&](link const& l, std::int64_t elements) {
    return elements == 0 ? 0 : l.alpha + double(elements) * element_size * l.beta;
  };
  return std::max(seconds(m.inter, between), seconds(m.intra, inside));
}

constexpr cross_mesh_plan cross_mesh_here(shape const& extents, int element_size,
                                          mesh_part const& source, placement const& from,
                                          mesh_part const& target, placement const& to,
                                          topology const& whole, machine const& m,
                                          crossing_choice const& choice) {
  nodes_of_mesh const nodes(whole);
  bool apart = true;
  for (int const a : nodes.of(source.ranks))
    for (int const b : nodes.of(target.ranks)) apart = apart && a != b;

  bool const adds = from.has_partial() && (!to.has_partial() || to.op() == from.op());
  crossing_side before(extents, element_size, source, from, true, adds, from.op(), m);
  crossing_side after(extents, element_size, target, to, false, adds, adds ? from.op() : to.op(),
                      m);
  int sharing = 1;
  for (int n = 0; n < nodes.nodes(); ++n)
    sharing = std::max(sharing, static_cast<int>(nodes.in_node(target.ranks, n).size()));
  for (bool const is_source : {true, false})
    for (auto& s : (is_source ? before : after).states())
      s.load = load_of_crossing(extents, is_source ? source : target, s.at, is_source, nodes);

  struct pair {
    double bound;
    int before, after;
  };
  std::vector<pair> pairs;
  for (std::size_t i = 0; i < before.states().size(); ++i)
    for (std::size_t j = 0; j < after.states().size(); ++j) {
      auto const &a = before.states().data()[i], &b = after.states().data()[j];
      if (a.addends != b.addends) continue;
      if (!may_arrive(choice.how, target.axes, b.at, to, b.seconds)) continue;
      double const across = least_seconds(a.load, b.load, sharing, apart, element_size, m);
      pairs.push_back({a.seconds + b.seconds + across, static_cast<int>(i), static_cast<int>(j)});
    }
  if (pairs.empty() || choice.chunks < 0)
    throw error("redistribute",
                "no crossing to " + to_string(to, target.axes) + " is a " + name_of(choice.how) +
                    " in " + std::to_string(choice.chunks) +
                    " chunks. Use crossing_strategy::cheapest, and 0 or more chunks.");
  int const chunks = choice.chunks == 0 && choice.how == crossing_strategy::send ? 1
                                                                                 : choice.chunks;
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
    if (!apart &&
        a.seconds + b.seconds + least_seconds_inside(a.load, b.load, element_size, m) >= seconds)
      continue;
    auto c = plan_crossing(extents, element_size, source, a.at, target, b.at, nodes, m, chunks);
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

#if ASHLAR_COMPILED
cross_mesh_plan cross_mesh_at_run_time(shape const& extents, int element_size,
                                       mesh_part const& source, placement const& from,
                                       mesh_part const& target, placement const& to,
                                       topology const& whole, machine const& m,
                                       crossing_choice const& choice);
#endif

}  // namespace detail

/// Returns the cheapest plan that `choice` permits. Expects placements that ashlar::check
/// (layout/layout.hpp) accepts, on parts of `whole` without common ranks. Throws ashlar::error if
/// no plan is permitted.
constexpr cross_mesh_plan plan_cross_mesh(shape const& extents, int element_size,
                                          mesh_part const& source, placement const& from,
                                          mesh_part const& target, placement const& to,
                                          topology const& whole, machine const& m,
                                          crossing_choice const& choice = {}) {
  ASHLAR_RETURN(
      detail::cross_mesh_here(extents, element_size, source, from, target, to, whole, m, choice),
      detail::cross_mesh_at_run_time(extents, element_size, source, from, target, to, whole, m,
                                     choice));
}

}  // namespace ashlar
