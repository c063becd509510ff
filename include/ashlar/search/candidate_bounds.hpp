// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes lower bounds of the seconds of a step for all pipelines of a candidate: all placements,
// schedules, cuts, and numbers of recomputed segments.
//
//   least_of_candidate   without a memory limit, from the fastest plans of all pieces of the chain
//                        (stages_alone.hpp, cut_bounds.hpp)
//   least_below_limit    below the memory limit of the machine, with a price of memory
//                        (memory_price.hpp)

#include <concepts>

#include <ashlar/search/cut_bounds.hpp>
#include <ashlar/search/memory_price.hpp>
#include <ashlar/search/pipeline_candidate.hpp>
#include <ashlar/search/stages_alone.hpp>

#if !ASHLAR_COMPILED
#include <ashlar/search/memory_price_search.hpp>
#endif

namespace ashlar::search::detail {

/// Returns the chain with m + parts - 1 micro-batches instead of m. A step under 1F1B lasts about
/// as long as the passes of that many, which weighs passes against synchronization.
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

/// Returns whether a schedule exists for a candidate with this number of micro-batches.
template <int N>
bool permits(pipeline_candidate<N> const& c, schedule_choice const& choice, int micro_batches) {
  return c.parts > 1 ? choice.permits(c.parts, micro_batches) : is_plain(choice);
}

/// Returns the bound without a memory limit, or `unreachable` if no schedule exists for these
/// numbers of parts and micro-batches. Expects more than one part.
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
      for (int const first : equal_limits(net, blocks, c.parts * choice.chunks))
        cut.push_back(static_cast<int>(std::lower_bound(points.begin(), points.end(), first) -
                                       points.begin()));
      if (cut.empty()) continue;
    }
    least = std::min(least, bounds.least(choice, c.parts, cut));
  }
  return std::max(least,
                  plain ? least_plain_step(sum, c.parts, m, chain.micro_batches) : sum / c.parts);
}

/// Returns a bound below the memory limit of the machine, between c.least and `known`. `whole` says
/// whether the backward passes of all schedules are whole. `price` is a price of memory to begin with, in seconds per
/// byte, and becomes the best one found.
template <class Layout, int N>
double least_below_limit(pipeline_candidate<N> const& c, basic_problem<N> const& net,
                         machine const& m, bool whole, double known, double& price,
                         shared_moves& moves) {
  // Other layouts may choose among other plans, and on other meshes.
  if constexpr (std::derived_from<Layout, optimal_layout>) {
    auto const points = cutting_points(net);
    std::size_t const n = points.size() - 1;
    if (m.memory == 0 || c.pins != nullptr || !has_memory_price(net, points, c.mesh))
      return c.least;
    priced_parts pipeline{points, std::vector<double>(n), c.parts, 0, c.least, known};
    double remaining = 0, before = 0;
    for (std::size_t k = n; k-- > 0;) {
      piece_least piece;
      set_ideal_work(piece, net, points[k], points[k + 1], c.mesh.ranks(), m);
      pipeline.remaining[k] = remaining += piece.forward + piece.input +
                                           (whole ? piece.weights : 0);
    }
    // Before the first stage of part p lie at least p pieces.
    for (std::size_t p = 0; p < n && p < static_cast<std::size_t>(c.parts); ++p) {
      piece_least piece;
      set_ideal_work(piece, net, points[p], points[p + 1], c.mesh.ranks(), m);
      pipeline.heads += before;
      before += piece.forward;
    }
    return least_at_memory_price(net, pipeline, c.mesh, m, price, moves);
  } else {
    return c.least;
  }
}

}  // namespace ashlar::search::detail
