// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Pipeline stages beside everything else: how many, on which axis of the mesh, with how many
// micro-batches, and how the layers of each stage lie on the ranks it has (AutoDDL section 5.4).
//
// s equal stages of repeated blocks (stages.hpp) divide one axis of the mesh, between nodes where
// there is one; price_pipeline.hpp says what a step takes, with u_j of a stage and a micro-batch.
//
// How near the best is:  T >= ((s + m - 1) Σ t_j + Σ g_j) / s, t_j: u_j without the sending. The exact
// search finds the least of that, a chain of s + m - 1 micro-batches; what its plan takes is T. Under
// a memory limit that this plan exceeds each stage is searched alone, with the number of its segments
// that are recomputed: stages at the front have more micro-batches in flight and recompute more. With
// l_j, which bounds (s + m - 1) t_j + g_j of each below the limit, and g the longest synchronization,
// t_j >= (l_j - g) / (s + m - 1), and so  T >= Σ t_j + (m - 1) max t_j + g >= (Σ l_j + (m - 1) max l_j)
// / (s + m - 1). As soon as the stages searched so far say that this is no better plan, the rest is not
// searched.

#include <algorithm>
#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/search/stages.hpp>

namespace ashlar::search {

struct pipeline_options {
  std::vector<int> stages;         ///< counts to try; empty: all that divide blocks and an axis
  std::vector<int> micro_batches;  ///< counts to try; empty: 1
};

/// How pipeline() places chains unless told otherwise.
struct optimal_layout {
  template <int N>
  basic_plan<N> operator()(basic_problem<N> const& net, topology const& t, machine const& m) const {
    return optimal(net, t, m);
  }
};

namespace detail {

/// Axes that stages can divide: those between nodes, if there are any.
inline std::vector<int> stage_axes(topology const& t, int stages) {
  std::vector<int> between, within;
  for (int a = 0; a < t.axes(); ++a)
    if (t.extent(a) > 1) (t.axis[a].tier == link_tier::inter_node ? between : within).push_back(a);
  auto& axes = between.empty() ? within : between;
  std::erase_if(axes, [&](int a) { return t.extent(a) % stages != 0; });
  return axes;
}

inline std::vector<int> divisors(int n) {
  std::vector<int> list;
  for (int d = 1; d <= n; ++d)
    if (n % d == 0) list.push_back(d);
  return list;
}

/// "1, 2, 4": the counts of stages that so many blocks and a mesh allow.
inline std::string possible_stages(int blocks, topology const& t) {
  std::string list = "1";
  for (int const n : divisors(blocks))
    if (n > 1 && !stage_axes(t, n).empty()) list += ", " + std::to_string(n);
  return list;
}

/// Stages that were placed each for itself.
template <int N>
struct separate_stages {
  basic_plan<N> chosen;         ///< of all elements
  std::vector<int> recomputed;  ///< segments, of each stage
  double bound = 0;             ///< seconds of a step that no plan within the memory beats
};

/// Each stage of a chain of s + m - 1 micro-batches searched alone within m.memory; only so many that the
/// bound reaches `known`. Throws where a stage does not fit.
template <int N, class Layout>
separate_stages<N> stages_alone(basic_problem<N> const& chain, std::vector<int> const& limits,
                                int micro_batches, topology const& t, machine const& m,
                                Layout const& layout, double known) {
  int const stages = static_cast<int>(limits.size()) - 1;
  separate_stages<N> joined;
  joined.chosen.mesh = t;
  double sum = 0, most = 0;
  for (int s = 0; s < stages && joined.bound < known; ++s) {
    auto const part = stage_of(chain, limits[static_cast<std::size_t>(s)],
                               limits[static_cast<std::size_t>(s) + 1],
                               std::min(micro_batches, stages - s));
    auto const placed = layout(part, t, m);
    if (s > 0 && !(placed.mesh == joined.chosen.mesh))
      throw error("search::pipeline", "stages were laid out on different meshes.");
    joined.chosen.mesh = placed.mesh;
    joined.recomputed.push_back(placed.recomputed);
    double const least = placed.seconds * (1 - placed.gap);
    sum += least;
    most = std::max(most, least);
    joined.bound = (sum + (micro_batches - 1) * most) / chain.micro_batches;
    for (auto const& c : placed.choices) joined.chosen.choices.push_back(c);
  }
  return joined;
}

}  // namespace detail

/// The fastest pipeline found: over the stage counts and micro-batch counts of `options`, over the
/// axes that stages can divide, and over the placements on each. net_of(m) describes the chain with
/// a micro-batch of 1/m of the batch and m micro-batches per step.
/// `lower_bound` holds for all of them; 1 - lower_bound / seconds() is how much faster one could be.
/// Throws ashlar::error if nothing fits machine.memory, if a stage count is named that does not
/// divide the blocks or any axis, or if net_of gives another number of micro-batches.
/// `layout(chain, mesh, machine)` places a chain, on that mesh or another of as many ranks: the exact
/// search, or a baseline, for which the bound then holds as far as the baseline is the best of its
/// kind.
template <class Describe, class Layout = optimal_layout>
pipeline_plan pipeline(Describe const& net_of, topology const& t, machine const& m,
                       pipeline_options const& options = {}, Layout const& layout = {}) {
  pipeline_plan best;
  bool found = false;
  double bound = unreachable;
  std::string refused;
  machine unlimited = m;
  unlimited.memory = 0;
  for (int const batches : options.micro_batches.empty() ? std::vector{1} : options.micro_batches) {
    if (batches < 1)
      throw error("search::pipeline",
                  std::to_string(batches) + " micro-batches: a step needs 1 or more.");
    auto const net = net_of(batches);
    if (net.micro_batches != batches)
      throw error("search::pipeline", "asked for " + std::to_string(batches) +
                                          " micro-batches, the chain was described with " +
                                          std::to_string(net.micro_batches) + ".");
    auto const blocks = find_blocks(net);
    bool const all = options.stages.empty();
    for (int const stages : all ? detail::divisors(blocks.count) : options.stages) {
      auto const axes = stages < 1    ? std::vector<int>{}
                        : stages == 1 ? std::vector{-1}
                                      : detail::stage_axes(t, stages);
      if (axes.empty() || blocks.count % stages != 0) {
        if (all) continue;
        throw error("search::pipeline",
                    std::to_string(stages) + " stages of " + std::to_string(blocks.count) +
                        " equal blocks on " + to_string(t) +
                        ": the stages must divide the number of blocks and the extent of an axis "
                        "(one between nodes, if there is one). Here that leaves " +
                        detail::possible_stages(blocks.count, t) + ".");
      }
      auto const limits = stage_limits(net, blocks, stages);
      for (int const axis : axes) {
        topology const mesh = stage_mesh(t, axis, stages);
        auto const recomputed = recomputed_in_stages(net, limits);
        auto chain = in_stages(net, limits, recomputed);
        chain.micro_batches = stages + batches - 1;
        auto const chosen = layout(chain, mesh, unlimited);
        double least = chosen.seconds * (1 - chosen.gap) / stages;
        if (found && least >= best.seconds()) continue;
        auto candidate = price_pipeline(net, chosen, limits, recomputed, axis, batches, m);
        if (m.memory > 0 && candidate.chosen.memory > m.memory) {
          try {
            auto const alone = detail::stages_alone(chain, limits, batches, mesh, m, layout,
                                                    found ? best.seconds() : unreachable);
            least = std::max(least, alone.bound);
            if (found && least >= best.seconds()) continue;
            candidate = price_pipeline(net, alone.chosen, limits, alone.recomputed, axis, batches,
                                       m);
          } catch (error const& e) {
            refused = e.what();
            bound = std::min(bound, least);
            continue;
          }
        }
        bound = std::min(bound, least);
        if (found && candidate.seconds() >= best.seconds()) continue;
        found = true;
        best = candidate;
      }
    }
  }
  if (!found)
    throw error("search::pipeline", "no number of stages and micro-batches fits in the machine's "
                                    "memory per rank. The last one tried: " +
                                        refused);
  best.lower_bound = std::min(bound, best.seconds());
  best.chosen.gap = best.seconds() > 0 ? 1 - best.lower_bound / best.seconds() : 0;
  return best;
}

}  // namespace ashlar::search
