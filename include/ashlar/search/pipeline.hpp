// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches for pipeline parallelism in combination with all other layouts (AutoDDL, section 5.4):
// the number of stages, the mesh axis that they divide, the number of micro-batches, and the
// placements of the layers of each stage on its ranks.
//
// The s stages consist of equally many repeated blocks (stages.hpp). The stages divide one axis of
// the mesh. If the mesh has axes between nodes, this axis is one of them. Let u_j be the seconds of
// stage j for one micro-batch, and g_j the seconds of its gradient synchronization. A step of m
// micro-batches takes (price_pipeline.hpp)
//
//   T = Σ u_j + (m - 1) max u_j + max g_j
//
// Lower bound without a memory limit: Let t_j be u_j without the sends to other stages. A maximum
// is at least the average, so
//
//   T >= ((s + m - 1) Σ t_j + Σ g_j) / s
//
// The numerator is the cost of the whole chain if it ran on one stage's mesh with s + m - 1
// micro-batches. The exact search finds the plan that minimizes this numerator. T is then computed
// for that plan.
//
// Lower bound with a memory limit: If that plan exceeds the limit, each stage is searched alone,
// including the number of its recomputed segments. Early stages have more micro-batches in flight
// and recompute more. Let l_j be a lower bound of (s + m - 1) t_j + g_j within the limit, and g the
// longest synchronization. Then t_j >= (l_j - g) / (s + m - 1), and so
//
//   T >= Σ t_j + (m - 1) max t_j + g >= (Σ l_j + (m - 1) max l_j) / (s + m - 1)
//
// The search of a pipeline ends early if the stages searched so far prove that this pipeline is no
// faster than the best pipeline known.

#include <algorithm>
#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/search/stages.hpp>

namespace ashlar::search {

struct pipeline_options {
  /// Numbers of stages to try. If empty, tries all numbers that divide the number of repeated
  /// blocks and the extent of an axis.
  std::vector<int> stages;
  /// Numbers of micro-batches to try. If empty, tries one micro-batch.
  std::vector<int> micro_batches;
};

/// The default layout of pipeline(): the placements that the exact search finds.
struct optimal_layout {
  template <int N>
  basic_plan<N> operator()(basic_problem<N> const& net, topology const& t, machine const& m) const {
    return optimal(net, t, m);
  }
};

namespace detail {

/// Returns the axes whose extent is divisible by this number of stages. If the mesh has axes
/// between nodes, returns only such axes.
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

/// Returns the possible numbers of stages for this number of repeated blocks, as text such as "1,
/// 2, 4".
inline std::string possible_stages(int blocks, topology const& t) {
  std::string list = "1";
  for (int const n : divisors(blocks))
    if (n > 1 && !stage_axes(t, n).empty()) list += ", " + std::to_string(n);
  return list;
}

/// The result of searching each stage of a pipeline separately.
template <int N>
struct separate_stages {
  basic_plan<N> chosen;         ///< placements of all elements of the chain
  std::vector<int> recomputed;  ///< per stage: the number of recomputed segments
  double bound = 0;             ///< lower bound of the seconds of a step within the memory limit
};

/// Searches the best placements of each stage of a chain separately, within m.memory bytes per
/// rank. Throws if a stage does not fit.
///   chain    must have micro_batches = `micro_batches` + number of stages - 1
///   limits   the first element of every stage, and the number of all elements
///   layout   finds the placements of one stage
///   known    seconds of the best pipeline so far. The search stops when the lower bound of the
///            pipeline reaches `known`
template <int N, class Layout>
separate_stages<N> stages_alone(basic_problem<N> const& chain, std::vector<int> const& limits,
                                int micro_batches, topology const& t, machine const& m,
                                Layout const& layout, double known) {
  int const stages = static_cast<int>(limits.size()) - 1;
  separate_stages<N> joined;
  joined.chosen.mesh = t;
  double sum = 0, most = 0;
  auto const flights = pipelines::in_flight(pipelines::one_f_one_b(stages, micro_batches));
  for (int s = 0; s < stages && joined.bound < known; ++s) {
    auto const part = stage_of(chain, limits[static_cast<std::size_t>(s)],
                               limits[static_cast<std::size_t>(s) + 1],
                               flights[static_cast<std::size_t>(s)].held);
    auto const placed = layout(part, t, m);
    if (s > 0 && !(placed.mesh == joined.chosen.mesh))
      throw error("search::pipeline",
                  "the layout function placed two stages on different meshes. Use one mesh for "
                  "all stages.");
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

/// Returns the fastest pipeline found, over the numbers of stages and micro-batches in `options`,
/// the axes that stages can divide, and the placements.
///   net_of    net_of(m) returns the chain for m micro-batches per step, each with 1/m of the batch
///   layout    layout(chain, mesh, machine) returns a plan of the chain, on this mesh or on another
///             one with equally many ranks. The default is the exact search
///
/// `lower_bound` of the result is a lower bound of the seconds of all these pipelines. If `layout`
/// is not the exact search, the bound applies only to pipelines with plans of the same kind. It is
/// then valid only if `layout` returns the best plan of that kind.
///
/// Throws ashlar::error in three cases:
///   - Nothing fits machine.memory.
///   - A requested number of stages does not divide the blocks or any axis.
///   - net_of(m) returns a chain with a number of micro-batches other than m.
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
      throw error("search::pipeline",
                  std::to_string(batches) +
                      " micro-batches were requested, but the chain was described with " +
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
                        "(one between nodes, if there is one). Possible numbers here: " +
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
