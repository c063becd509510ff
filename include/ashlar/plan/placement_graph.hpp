// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The graph of all placements ("states") of a tensor with a given number of dims on a mesh, except
// placements with an owned axis. The edges of the graph are the redistribution steps. The graph
// does not depend on the tensor's extents. `price` computes the seconds of each edge for one shape,
// and `shortest_from` runs Dijkstra's algorithm from one placement.
//
// If two paths cost the same, the one with fewer steps wins, because the weight of a step is its
// seconds plus tie_break. tie_break is far below the latency α of any link. All functions work in
// constant expressions.

#include <vector>

#include <ashlar/plan/path_search.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

class placement_graph {
 public:
  struct edge {
    int from;
    int to;
    collective kind;
    axis_list axes;
  };

  /// Builds the graph for tensors of `rank` dims. `op` is the reduction that P stands for.
  constexpr placement_graph(int rank, topology const& t, reduction op = reduction::sum)
      : topology_(t), rank_(rank) {
    // Slices, pads and permutes lead from "all broadcast" to every placement. So the loop, which
    // adds the neighbours of each placement that it has found, finds all placements.
    states_.add(placement::all_broadcast(t.axes()));
    for (int i = 0; i < states(); ++i) {
      first_edge_.push_back(static_cast<int>(edges_.size()));
      placement const from = state(i);
      for_each_step(from, rank, t, op, [&](redistribution_step const& s) {
        edges_.push_back({i, states_.add(s.to), s.kind, s.axes});
      });
    }
    first_edge_.push_back(static_cast<int>(edges_.size()));
  }

  constexpr int states() const { return states_.size(); }
  constexpr placement const& state(int i) const { return states_[i]; }
  constexpr int rank() const { return rank_; }
  constexpr topology const& mesh() const { return topology_; }
  constexpr std::vector<edge> const& edges() const { return edges_; }

  /// Returns the index of a placement, or -1 if the graph does not contain it.
  constexpr int find(placement const& p) const { return states_.find(p); }

  constexpr redistribution_step step_of(int e) const {
    edge const& it = edges_[static_cast<std::size_t>(e)];
    return {it.kind, it.axes, state(it.from), state(it.to)};
  }

  /// Returns the seconds of every edge for a tensor with these extents.
  constexpr scratch<double> price(shape const& extents, int element_size, machine const& m) const {
    step_prices const price_of(extents, element_size, topology_, m);
    scratch<axis_roles> roles(count());
    for (int i = 0; i < states(); ++i) roles.data()[i] = axis_roles(states_[i]);
    scratch<double> cost(edges_.size());
    edge const* it = edges_.data();
    for (double& c : cost) {
      c = price_of(it->kind, set_of(it->axes), roles.data()[it->from], roles.data()[it->to],
                   it->kind == collective::permute && is_pairwise(it->axes, topology_));
      ++it;
    }
    return cost;
  }

  struct paths {
    scratch<double> weight;  ///< for each state: the seconds of its path, plus tie_break per step
    /// For each state (placement): the last edge of the path to this state, or -1 if there is none.
    /// After a search against the direction of the edges: the first edge of the path from this
    /// state.
    scratch<int> last_edge;
  };
  /// Returns paths that do not reach any state yet.
  constexpr paths no_paths() const {
    return {scratch<double>(count(), unreachable), scratch<int>(count(), -1)};
  }

  /// Finds shortest paths from state (placement) number `source` to every state. `cost` has the
  /// seconds of every edge.
  constexpr paths shortest_from(int source, scratch<double> const& cost) const {
    paths result = no_paths();
    result.weight[static_cast<std::size_t>(source)] = 0;
    settle(result, cost, false);
    return result;
  }

  /// Finds shortest paths from every state to state (placement) number `target`. `cost` has the
  /// seconds of every edge.
  constexpr paths shortest_to(int target, scratch<double> const& cost) const {
    paths result = no_paths();
    result.weight[static_cast<std::size_t>(target)] = 0;
    settle(result, cost, true);
    return result;
  }

  /// Runs Dijkstra's algorithm along the edges, or against their direction if `backward`. The
  /// search starts from all states (placements) that already have a weight in `p`. Each such weight
  /// is the cost of a path up to that state.
  constexpr void settle(paths& p, scratch<double> const& cost, bool backward) const {
    scratch<char> settled(count());
    double* const weight = p.weight.data();
    int* const last = p.last_edge.data();
    char* const done = settled.data();
    double const* const price_of = cost.data();
    edge const* const edges = edges_.data();
    incoming const in(*this, backward);
    int const* const first = backward ? in.first.data() : first_edge_.data();
    int const* const edge_of = in.edge.data();
    // If the graph has few states (placements), the states to be visited are in an unsorted list
    // and not in a heap. The list is then faster and takes fewer steps of constant evaluation.
    bool const scan = states() <= 128;
    scratch<int> open_list(scan ? count() : 0);
    int* const open = open_list.data();
    int open_count = 0;
    min_heap heap;
    for (int i = 0; i < states(); ++i)
      if (weight[i] < unreachable) scan ? void(open[open_count++] = i) : heap.push(weight[i], i);
    while (open_count > 0 || !heap.empty()) {
      int u = 0;
      if (scan) {
        int best = 0;
        for (int i = 1; i < open_count; ++i)
          if (weight[open[i]] < weight[open[best]]) best = i;
        u = open[best];
        open[best] = open[--open_count];
      } else {
        u = heap.pop().item;
        if (done[u]) continue;
      }
      done[u] = 1;
      double const so_far = weight[u] + tie_break;
      for (int i = first[u]; i < first[u + 1]; ++i) {
        int const e = backward ? edge_of[i] : i;
        int const v = backward ? edges[e].from : edges[e].to;
        double const through = so_far + price_of[e];
        if (!(through < weight[v]) || done[v]) continue;
        if (!scan) heap.push(through, v);
        else if (weight[v] == unreachable) open[open_count++] = v;
        weight[v] = through;
        last[v] = e;
      }
    }
  }

 private:
  constexpr std::size_t count() const { return static_cast<std::size_t>(states()); }

  /// The edges sorted by the state to which they lead, for a search against their direction. The
  /// lists are empty unless `wanted`.
  struct incoming {
    scratch<int> first, edge;

    constexpr incoming(placement_graph const& graph, bool wanted) {
      if (!wanted) return;
      auto const& all = graph.edges_;
      first = scratch<int>(graph.count() + 1);
      edge = scratch<int>(all.size());
      for (auto const& e : all) ++first[static_cast<std::size_t>(e.to)];
      int total = 0;
      for (auto& f : first) total += f, f = total;
      for (int e = static_cast<int>(all.size()) - 1; e >= 0; --e)
        edge[static_cast<std::size_t>(
            --first[static_cast<std::size_t>(all[static_cast<std::size_t>(e)].to)])] = e;
    }
  };

  topology topology_;
  int rank_;
  placement_set states_;
  std::vector<edge> edges_;
  std::vector<int> first_edge_;
};

}  // namespace ashlar
