// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a lower bound of the seconds of a step for all pipelines of a candidate (a division of
// the mesh into parts and a number of micro-batches, pipeline_candidate.hpp). The bound holds for
// all placements, schedules, cuts, and numbers of recomputed segments. It is computed from the
// fastest plans of all pieces of the chain (stages_alone.hpp, cut_bounds.hpp), which ignore the
// memory limit.

#include <algorithm>
#include <vector>

#include <ashlar/search/cut_bounds.hpp>
#include <ashlar/search/pipeline_candidate.hpp>
#include <ashlar/search/stages_alone.hpp>

namespace ashlar::search::detail {

/// Returns the chain with m + parts - 1 micro-batches instead of m. A step under 1F1B lasts about
/// as long as the passes of that many micro-batches. So with this number, a search gives passes
/// their right weight against the synchronization of gradients.
template <int N>
basic_problem<N> weighed(basic_problem<N> chain, int parts) {
  chain.micro_batches += parts - 1;
  return chain;
}

/// Returns the cut into stages of equally many blocks, or an empty list if there is none.
template <int N>
std::vector<int> equal_limits(basic_problem<N> const& net, repeated_blocks const& blocks,
                              int stages) {
  return blocks.count % stages == 0 ? stage_limits(net, blocks, stages) : std::vector<int>{};
}

/// Returns whether the schedule `choice` exists for a candidate with this number of micro-batches.
/// If the candidate has one part, only schedules of one stage with whole backward passes exist.
template <int N>
bool permits(pipeline_candidate<N> const& c, schedule_choice const& choice, int micro_batches) {
  return c.parts > 1 ? choice.permits(c.parts, micro_batches) : is_plain(choice);
}

/// Returns a lower bound of the seconds of a step for all pipelines of the candidate. If `any_cuts`
/// is false, the stages of these pipelines have equally many blocks. Returns `unreachable` if there
/// is no such pipeline, because no schedule or no cut exists for its numbers. `unlimited` is the
/// machine without its memory limit. Expects more than one part.
template <int N, class Layout>
double least_of_candidate(pipeline_candidate<N> const& c, basic_problem<N> const& net,
                          repeated_blocks const& blocks,
                          std::vector<schedule_choice> const& schedules, bool any_cuts,
                          machine const& unlimited, Layout const& layout, shared_moves& moves) {
  int const m = net.micro_batches;
  bool const plain = std::all_of(schedules.begin(), schedules.end(), is_plain);
  auto const points = any_cuts || !plain ? cutting_points(net) : stage_limits(net, blocks, c.parts);
  auto const chain = plain ? weighed(net, c.parts) : net;
  double sum = 0;
  std::vector<piece_least> pieces;
  for (double const seconds :
       least_of_pieces(chain, points, c.mesh, unlimited, layout, moves, c.pins.get())) {
    auto const k = pieces.size();
    sum += seconds;
    pieces.push_back({seconds});
    set_ideal_work(pieces.back(), net, points[k], points[k + 1], c.mesh.ranks(), unlimited);
  }
  cut_bounds const bounds(std::move(pieces), m, chain.micro_batches);
  double least = unreachable;
  for (auto const& choice : schedules) {
    if (!permits(c, choice, m)) continue;
    std::vector<int> cut;
    if (!any_cuts) {
      cut = units_of(points, equal_limits(net, blocks, c.parts * choice.chunks));
      if (cut.empty()) continue;
    }
    least = std::min(least, bounds.least(choice, c.parts, cut));
  }
  return std::max(least,
                  plain ? least_plain_step(sum, c.parts, m, chain.micro_batches) : sum / c.parts);
}

}  // namespace ashlar::search::detail
