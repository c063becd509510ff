// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the best mesh for a baseline that is data parallel along some mesh axes and tensor parallel
// along the others. AutoDDL, section 5, tunes Megatron and Summa in the same way by hand.
//
//   auto const plan = search::megatron(net, t, m);          // plan.mesh: the topology found
//
//   1. Factor the number of nodes as n1 · n2 and the ranks of a node as g1 · g2, in every way. The
//      factors n1 and g1 form the axis "rows" (data parallel), n2 and g2 the axis "columns" (tensor
//      parallel).
//   2. Make the baseline's plan on this coarse mesh of two axes. Links of an axis that spans
//      several nodes all count as links between nodes.
//   3. Transfer the plan to the fine mesh rows_node=n1, columns_node=n2, rows_gpu=g1,
//      columns_gpu=g2. On the fine mesh, traffic inside a node is priced with the links inside the
//      node. Axes of extent 1 are left out. If only one axis of the rows is left, its name is
//      "rows". If only one axis of the columns is left, its name is "columns".
//
// The result is the cheapest of the plans that fit the machine's memory on their fine mesh. The
// transfer keeps a plan legal, because the parts of an axis nest in the same order in all tensors.
// Only the sizes of uneven shards may change.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/planned_moves.hpp>

namespace ashlar::search {
namespace detail {

/// Per axis of a coarse mesh: the axes of the fine mesh that the coarse axis consists of, outermost
/// first.
using refinement = std::vector<std::vector<int>>;

/// Returns the placement on the fine mesh that corresponds to placement p on the coarse mesh.
inline placement refined(placement const& p, refinement const& parts, int axes) {
  placement fine = placement::all_broadcast(axes);
  for (int a = 0; a < p.axes(); ++a)
    for (int const f : parts[static_cast<std::size_t>(a)])
      if (!p[a].is_split()) fine.axis[f] = p[a];
  for (int dim = 0; dim < max_rank; ++dim)
    for (auto const a : p.axes_of(dim))
      for (int const f : parts[static_cast<std::size_t>(a)]) fine = fine.with_split(f, dim);
  return fine;
}

/// Returns the plan with every placement transferred to the fine mesh. Its predicted time and
/// memory are not updated.
template <int N>
basic_plan<N> refined(basic_plan<N> chosen, refinement const& parts, topology const& t) {
  auto const change = [&](placement& p) { p = refined(p, parts, t.axes()); };
  chosen.mesh = t;
  for (auto& c : chosen.choices) {
    for (auto* p : {&c.x, &c.y, &c.dy, &c.dx}) change(*p);
    for (auto& p : c.parameters) {
      for (auto* it : {&p.use, &p.grad, &p.store}) change(*it);
      if (p.is_updated_apart()) change(p.update);
    }
    for (auto& s : c.statistics)
      for (auto* it : {&s.from, &s.to}) change(*it);
  }
  return chosen;
}

/// A mesh of two axes, and the fine mesh whose axes it combines.
struct two_axes {
  topology coarse, fine;
  refinement parts;
};

inline two_axes two_axes_of(int rows_node, int columns_node, int rows_gpu, int columns_gpu) {
  auto const tier = [](int nodes) {
    return nodes > 1 ? link_tier::inter_node : link_tier::intra_node;
  };
  two_axes mesh{{{"rows", rows_node * rows_gpu, tier(rows_node)},
                 {"columns", columns_node * columns_gpu, tier(columns_node)}},
                {},
                {{}, {}}};
  int const extent[2][2] = {{rows_node, columns_node}, {rows_gpu, columns_gpu}};
  char const* const name[2] = {"rows", "columns"};
  for (int level = 0; level < 2; ++level)
    for (int a = 0; a < 2; ++a) {
      if (extent[level][a] == 1) continue;
      std::string text = name[a];
      if (extent[1 - level][a] > 1) text += level == 0 ? "_node" : "_gpu";
      mesh.parts[static_cast<std::size_t>(a)].push_back(mesh.fine.axes());
      mesh.fine.axis.push_back({axis_name(text), extent[level][a],
                                level == 0 ? link_tier::inter_node : link_tier::intra_node});
    }
  if (mesh.fine.axes() == 0) {
    mesh.parts[0].push_back(0);
    mesh.fine.axis.push_back({"rows", 1});
  }
  return mesh;
}

/// Returns every way to arrange the ranks of t as rows and columns. Each entry consists of the
/// coarse mesh of these two axes and of the fine mesh. Every axis of the fine mesh is either
/// between nodes or inside a node.
inline std::vector<two_axes> two_dimensional_meshes(topology const& t) {
  int const gpus = t.ranks_per_node(), nodes = t.ranks() / gpus;
  std::vector<two_axes> meshes;
  for (int n = 1; n <= nodes; ++n)
    for (int g = 1; g <= gpus && nodes % n == 0; ++g)
      if (gpus % g == 0) meshes.push_back(two_axes_of(nodes / n, n, gpus / g, g));
  return meshes;
}

/// Returns the plan with the fewest recomputed segments (activation checkpointing) that needs at
/// most `memory` bytes per rank (0: no limit). `assemble(r)` makes the plan with r recomputed
/// segments. The number r is found by bisection. If no plan fits, returns the one with all segments
/// recomputed.
template <int N, class Assemble>
basic_plan<N> recompute_until_it_fits(basic_problem<N> const& net, std::int64_t memory,
                                      Assemble const& assemble) {
  auto const fits = [&](basic_plan<N> const& p) { return memory == 0 || p.memory <= memory; };
  auto least = assemble(net.recomputed);
  if (fits(least) || net.recomputed == net.segments) return least;
  least = assemble(net.segments);
  if (!fits(least)) return least;
  for (int few = net.recomputed, enough = net.segments; enough - few > 1;) {
    int const r = (few + enough) / 2;
    auto between = assemble(r);
    if (fits(between)) least = std::move(between), enough = r;
    else few = r;
  }
  return least;
}

}  // namespace detail

/// Returns the cheapest plan of at most m.memory bytes per rank over all two-dimensional
/// arrangements of the ranks of `t`. `place(net, mesh of two axes, machine without memory limit)`
/// makes the plan for one arrangement. If that plan does not fit, as few as possible of its first
/// segments are recomputed. The gap of the result is 1. Throws ashlar::error if none of these plans
/// fits; the message states the least memory that one of them needs.
template <int N, class Place>
basic_plan<N> best_topology(basic_problem<N> const& net, topology const& t, machine const& m,
                            Place const& place, char const* name = "search::best_topology") {
  machine unlimited = m;
  unlimited.memory = 0;
  basic_plan<N> best, leanest;
  bool found = false;
  for (auto const& mesh : detail::two_dimensional_meshes(t)) {
    auto const fine = detail::refined(place(net, mesh.coarse, unlimited), mesh.parts, mesh.fine);
    planned_moves moves(mesh.fine, m);
    auto candidate = detail::recompute_until_it_fits(net, m.memory, [&](int segments) {
      return make_plan(net, moves, segments, [&](int i) -> layer_choice const& { return fine[i]; });
    });
    if (leanest.mesh.axes() == 0 || candidate.memory < leanest.memory) leanest = candidate;
    if ((m.memory > 0 && candidate.memory > m.memory) ||
        (found && candidate.seconds >= best.seconds))
      continue;
    best = std::move(candidate);
    found = true;
  }
  if (!found)
    throw error(name, "no arrangement of the ranks fits in " + bytes_text(double(m.memory)) +
                          " per rank; the smallest needs " + bytes_text(double(leanest.memory)) +
                          ", on " + to_string(leanest.mesh) +
                          ". Raise the memory limit, use more ranks, or call search::optimal.");
  best.gap = 1;
  return best;
}

/// Returns the plan of Megatron-LM (tensor parallel times data parallel) on its best topology.
template <int N>
basic_plan<N> megatron(basic_problem<N> const& net, topology const& t, machine const& m) {
  return best_topology(net, t, m, tensor_parallel<N>, "search::megatron");
}

/// Returns the plan of Summa, as in Optimus, on its best topology.
template <int N>
basic_plan<N> summa(basic_problem<N> const& net, topology const& t, machine const& m) {
  return best_topology(net, t, m, summa_parallel<N>, "search::summa");
}

/// A baseline with its name, for programs that list the baselines.
struct baseline {
  char const* name;
  plan (*make)(problem const&, topology const&, machine const&);
};

/// Returns the baselines that suit every net: data_parallel and zero_3 on the given mesh, megatron
/// and summa on their best topologies. expert_parallel is not among them.
inline std::array<baseline, 4> baselines() {
  return {{{"data_parallel", data_parallel<dynamic_size>},
           {"zero_3", zero_3<dynamic_size>},
           {"megatron", megatron<dynamic_size>},
           {"summa", summa<dynamic_size>}}};
}

}  // namespace ashlar::search
