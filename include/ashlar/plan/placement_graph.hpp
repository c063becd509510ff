// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// All placements of a tensor of given rank on a mesh, and every step between them. The structure
// does not depend on extents, so one graph serves every tensor of that rank; `price` gives each
// edge its seconds for one shape, `shortest_from` runs Dijkstra from one placement.
//
// Ties go to fewer steps: each step weighs tie_break seconds more than it costs, far below any α.
// Everything works in constant expressions (with transient allocations).

#include <vector>

#include <ashlar/plan/neighbours.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

inline constexpr double tie_break = 1e-13;

class placement_graph {
 public:
  struct edge {
    int from;
    int to;
    collective kind;
    axis_list axes;
  };

  /// `op`: the reduction that P stands for in this graph. Bit d of `dims`: whether its placements
  /// may split dim d.
  constexpr placement_graph(int rank, topology const& t, reduction op = reduction::sum,
                            unsigned dims = ~0u)
      : topology_(t), rank_(rank), op_(op) {
    // Everything can be reached from "all broadcast" by slices, pads and permutes.
    add(placement::all_broadcast(t.axes()));
    for (int i = 0; i < states(); ++i) {
      first_edge_.push_back(static_cast<int>(edges_.size()));
      placement const from = state(i);
      for_each_step(
          from, rank, t, op,
          [&](step const& s) {
            edges_.push_back({i, add(s.to), s.kind, s.axes});
          },
          dims);
    }
    first_edge_.push_back(static_cast<int>(edges_.size()));
  }

  constexpr int states() const { return static_cast<int>(states_.size()); }
  constexpr placement const& state(int i) const { return states_[static_cast<std::size_t>(i)]; }
  constexpr int rank() const { return rank_; }
  constexpr topology const& mesh() const { return topology_; }
  constexpr std::vector<edge> const& edges() const { return edges_; }

  /// The index of a placement; -1 if it is not one of this graph.
  constexpr int find(placement const& p) const {
    auto slot = static_cast<std::size_t>(hash(p)) & (table_.size() - 1);
    while (table_.size() != 0 && table_[slot] >= 0) {
      if (states_[static_cast<std::size_t>(table_[slot])] == p) return table_[slot];
      slot = (slot + 1) & (table_.size() - 1);
    }
    return -1;
  }

  constexpr step step_of(int e) const {
    edge const& it = edges_[static_cast<std::size_t>(e)];
    return {it.kind, it.axes, state(it.from), state(it.to)};
  }

  /// Seconds of every edge for a tensor of the given extents.
  constexpr scratch<double> price(shape const& extents, int element_size, machine const& m) const {
    scratch<shard_range> shards(states_.size());
    for (std::size_t i = 0; i < states_.size(); ++i)
      shards[i] = shards_of(extents, topology_, states_[i]);
    scratch<double> cost(edges_.size());
    step s;
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      edge const& it = edges_[e];
      if (!communicates(it.kind)) continue;
      auto const from = static_cast<std::size_t>(it.from), to = static_cast<std::size_t>(it.to);
      s.kind = it.kind;
      s.axes = it.axes;
      cost[e] = seconds(m, topology_, it.axes, it.kind,
                        priced_traffic(s, topology_, shards[from], shards[to]), element_size);
    }
    return cost;
  }

  struct paths {
    scratch<double> weight;  ///< per state: seconds plus tie breaks
    scratch<int> last_edge;  ///< per state: the edge it is reached by; -1 at the source
    // Towards a target (`backward`): the edge by which the state is left; -1 at the target.
  };
  static constexpr double infinity = 1e300;

  /// No state reached yet.
  constexpr paths no_paths() const {
    return {scratch<double>(states_.size(), infinity), scratch<int>(states_.size(), -1)};
  }

  /// Dijkstra from `source` to every state, or until `target` is settled.
  constexpr paths shortest_from(int source, scratch<double> const& cost, int target = -1) const {
    paths result = no_paths();
    result.weight[static_cast<std::size_t>(source)] = 0;
    settle(result, cost, false, target);
    return result;
  }

  /// Dijkstra from every state to `target`.
  constexpr paths shortest_to(int target, scratch<double> const& cost) const {
    paths result = no_paths();
    result.weight[static_cast<std::size_t>(target)] = 0;
    settle(result, cost, true);
    return result;
  }

  /// Dijkstra from all states that have a weight in `p`, each starting with it; along the edges or
  /// (`backward`) against them; until `target` is settled or all are.
  constexpr void settle(paths& p, scratch<double> const& cost, bool backward,
                        int target = -1) const {
    scratch<char> settled(states_.size());
    double* const weight = p.weight.data();
    int* const last = p.last_edge.data();
    char* const done = settled.data();
    double const* const price_of = cost.data();
    edge const* const edges = edges_.data();
    incoming const in(*this, backward);
    int const* const first = backward ? in.first.data() : first_edge_.data();
    int const* const edge_of = in.edge.data();
    // Open states in a plain list: graphs are small, and a scan beats a heap up to hundreds.
    scratch<int> open_list(states_.size());
    int* const open = open_list.data();
    int open_count = 0;
    for (int i = 0; i < states(); ++i)
      if (weight[i] < infinity) open[open_count++] = i;
    while (open_count > 0) {
      int best = 0;
      for (int i = 1; i < open_count; ++i)
        if (weight[open[i]] < weight[open[best]]) best = i;
      int const u = open[best];
      open[best] = open[--open_count];
      done[u] = 1;
      if (u == target) break;
      for (int i = first[u]; i < first[u + 1]; ++i) {
        int const e = backward ? edge_of[i] : i;
        int const v = backward ? edges[e].from : edges[e].to;
        if (done[v]) continue;
        double const through = weight[u] + price_of[e] + tie_break;
        if (through < weight[v]) {
          if (weight[v] == infinity) open[open_count++] = v;
          weight[v] = through;
          last[v] = e;
        }
      }
    }
  }

 private:
  /// The edges grouped by where they lead; empty unless wanted.
  struct incoming {
    scratch<int> first, edge;

    constexpr incoming(placement_graph const& graph, bool wanted) {
      if (!wanted) return;
      auto const& all = graph.edges_;
      first = scratch<int>(graph.states_.size() + 1);
      edge = scratch<int>(all.size());
      for (auto const& e : all) ++first[static_cast<std::size_t>(e.to)];
      int total = 0;
      for (auto& f : first) total += f, f = total;
      for (int e = static_cast<int>(all.size()) - 1; e >= 0; --e)
        edge[static_cast<std::size_t>(
            --first[static_cast<std::size_t>(all[static_cast<std::size_t>(e)].to)])] = e;
    }
  };

  static constexpr unsigned hash(placement const& p) {
    unsigned h = 0;
    for (int a = 0; a < p.axes(); ++a)
      h = h * 37u + (p[a].is_broadcast() ? 0u
                     : p[a].is_partial()
                         ? 1u
                         : 2u + static_cast<unsigned>(p[a].dim * max_axes + p[a].depth));
    return h * 2654435761u >> 7;
  }

  constexpr int add(placement const& p) {
    if (2 * states_.size() >= table_.size()) grow();
    auto slot = static_cast<std::size_t>(hash(p)) & (table_.size() - 1);
    while (table_[slot] >= 0) {
      if (states_[static_cast<std::size_t>(table_[slot])] == p) return table_[slot];
      slot = (slot + 1) & (table_.size() - 1);
    }
    table_[slot] = static_cast<int>(states_.size());
    states_.push_back(p);
    return table_[slot];
  }

  constexpr void grow() {
    table_ = scratch<int>(table_.size() == 0 ? 64 : 4 * table_.size(), -1);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      auto slot = static_cast<std::size_t>(hash(states_[i])) & (table_.size() - 1);
      while (table_[slot] >= 0) slot = (slot + 1) & (table_.size() - 1);
      table_[slot] = static_cast<int>(i);
    }
  }

  topology topology_;
  int rank_;
  reduction op_;
  std::vector<placement> states_;
  std::vector<edge> edges_;
  std::vector<int> first_edge_;
  scratch<int> table_;
};

}  // namespace ashlar
