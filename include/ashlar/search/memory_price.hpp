// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a lower bound of the seconds of a step below a memory limit, for all placements, cuts,
// schedules and recomputed segments of a pipeline. memory_price_search.hpp defines it.
//
// A chain is a sequence of pieces, and every stage consists of whole pieces (stages_alone.hpp). Let
// a step take T seconds for m micro-batches on s parts, whose ranks have M bytes each. A piece
// takes u seconds for both passes of a micro-batch, and g to synchronize its gradients. It keeps l
// bytes for the whole step, and h bytes per micro-batch from its forward pass to the gradient of
// its input. Then
//
//   s T >= Σ ( m u + g ) + e   the mean over all parts
//   s M >= Σ ( l + n h )       the mean over all parts and over the time of the step
//
// where e is the sum over all parts of the seconds before their first pass, and n is the mean number
// of micro-batches in flight. A micro-batch stays at least until all later pieces have run its
// forward pass and the gradient of its input. Let d be a lower bound of these seconds, with the
// passes of the piece itself. By Little's law n >= m d / T. For steps shorter than x seconds,
// n >= m d / x. Alternatively, n = 1 for all pieces: while the last stage begins to run backward for the first time, no other stage has done
// so, and all hold a micro-batch. The one with the larger sum of n is taken.
//
// Memory has a price λ in seconds per byte. With any λ >= 0,
//
//   s T >= Σ min ( m u + g + λ ( l + n h ) ) - λ s M + e
//
// where each minimum is over the plans of one piece and over whether its segments are recomputed.
// The best λ is found approximately. The n of pieces are rounded down to a few levels, so that most
// equal pieces share a minimum.

#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/mesh/topology.hpp>
#include <ashlar/search/search_effort.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::search::detail {

/// What the bound needs to know of a pipeline besides its chain.
struct priced_parts {
  std::vector<int> points;        ///< the first element of each piece, and the number of elements
  std::vector<double> remaining;  ///< d of each piece, in seconds
  int parts = 1;
  double heads = 0;  ///< lower bound of the seconds before the first pass, summed over all parts
  double least = 0;  ///< a lower bound of the seconds of a step that is known already
  double known = unreachable;  ///< only steps of fewer seconds are of interest
};

#if ASHLAR_COMPILED
double least_at_memory_price_at_run_time(problem const& net, priced_parts const& pipeline,
                                         topology const& t, machine const& m, double& price,
                                         shared_moves& moves);
#else
template <int N>
double least_at_memory_price_here(basic_problem<N> const& net, priced_parts const& pipeline,
                                  topology const& t, machine const& m, double& price,
                                  shared_moves& moves);
#endif

/// Returns the bound, which is between pipeline.least and pipeline.known. `price` is a λ to begin
/// with, and becomes the best one found. `t` is the mesh of a part.
/// Expects that the bound exists (has_memory_price).
template <int N>
double least_at_memory_price(basic_problem<N> const& net, priced_parts const& pipeline,
                             topology const& t, machine const& m, double& price,
                             shared_moves& moves) {
#if ASHLAR_COMPILED
  return least_at_memory_price_at_run_time(any_length(net), pipeline, t, m, price, moves);
#else
  return least_at_memory_price_here(net, pipeline, t, m, price, moves);
#endif
}

/// Returns whether the bound exists: the chain has no ties, and neither a branch nor a skip with
/// ends in different pieces, and the mesh of a part has at most two axes.
template <int N>
bool has_memory_price(basic_problem<N> const& net, std::vector<int> const& points,
                      topology const& t) {
  if (!net.ties.empty() || t.axes() > 2) return false;
  for (std::size_t k = 0; k + 1 < points.size(); ++k)
    for (int i = points[k]; i < points[k + 1]; ++i) {
      int const other = net[i].partner;
      bool const outside = other >= 0 && (other < points[k] || other >= points[k + 1]);
      if (is_of_branch(net[i].kind) || outside) return false;
    }
  return true;
}

}  // namespace ashlar::search::detail
