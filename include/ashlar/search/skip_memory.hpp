// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the memory of skips between stages of a pipeline (step/cut_skips.hpp). This memory is
// added to the memory of the stages. A skip carries a tensor x. For each micro-batch, x is in
// memory from the forward pass that makes it to the pass that reads it:
//
//   on the end's part     every x that has been made and not yet been read, and one more, whose
//                         receive begins ahead. If the forward pass of the end runs again in the
//                         backward pass, x is in memory until that second run
//   on the begin's part   two: the x that a pass is making, and the one before it, which is being
//                         sent
//
// If both ends are on one part, nothing is sent, and only the x that have not been read yet count.
// The gradient of x counts in the same way, with the roles of the two parts exchanged. How many x
// have been made when a pass runs depends on the order in which the passes of different parts end.
// All passes count as equally long here, as in step/build_stage.hpp. The sum over all skips of a
// part is an upper bound, since not all skips need their most memory at the same time.

#include <algorithm>
#include <vector>

#include <ashlar/layout/layout.hpp>
#include <ashlar/step/cut_skips.hpp>
#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {

/// A skip between two stages, with the bytes of its x and of its gradient on a rank.
struct skip_bytes {
  int from = 0, to = 0;  ///< the stages of the skip's begin and end
  std::int64_t x = 0, dx = 0;
  bool again = false;  ///< whether the forward pass of the skip's end runs twice
};

/// Returns the skips between stages, with their bytes. Stage s has the elements limits[s] ..
/// limits[s + 1] - 1 of the chain.
template <int N>
std::vector<skip_bytes> bytes_of_skips(basic_problem<N> const& chain, basic_plan<N> const& chosen,
                                       std::vector<int> const& limits) {
  std::vector<skip_bytes> list;
  for (auto const& it : cut_skips(chain, limits)) {
    auto const bytes = [&](placement const& p) {
      return max_local_elements(chain.spec(it.begin).x, chosen.mesh, p) * chain.element_size;
    };
    list.push_back({it.from, it.to, bytes(chosen[it.end].x), bytes(chosen[it.begin].dy),
                    chain.runs(it.end, chosen.recomputed) != forward_runs::once});
  }
  return list;
}

/// Returns an upper bound of the bytes per rank that skips between stages take on the part at
/// `position`.
inline std::int64_t held_for_skips(pipelines::schedule const& s, int position,
                                   std::vector<skip_bytes> const& skips) {
  if (skips.empty()) return 0;
  auto const passes = replay(s, pipelines::equal_costs(s.stages())).sequence;
  std::int64_t sum = 0;
  for (auto const& it : skips) {
    int const begin = s.position_of(it.from), end = s.position_of(it.to);
    int const ahead = begin == end ? 0 : 1;
    // x and dx count the inputs and the gradients of this skip that the passes so far have made and
    // that no pass has read yet. most_x and most_dx are the largest values of x and dx.
    int x = 0, dx = 0, most_x = 0, most_dx = 0;
    for (auto const& p : passes) {
      auto const& a =
          s.order[static_cast<std::size_t>(p.position)][static_cast<std::size_t>(p.number)];
      int const stage = s.stage_of(p.position, a.chunk);
      bool const forward = a.what == pipelines::pass::forward;
      bool const backward = pipelines::makes_input_gradient(a.what);
      x += forward && stage == it.from;
      dx += backward && stage == it.to;
      most_x = std::max(most_x, x);
      most_dx = std::max(most_dx, dx);
      x -= stage == it.to && (it.again ? backward : forward);
      dx -= backward && stage == it.from;
    }
    if (position == end) sum += std::min(most_x + ahead, s.micro_batches) * it.x;
    if (position == begin) sum += std::min(most_dx + ahead, s.micro_batches) * it.dx;
    if (begin == end) continue;
    int const leaving = std::min(2, s.micro_batches);
    if (position == begin) sum += leaving * it.x;
    if (position == end) sum += leaving * it.dx;
  }
  return sum;
}

}  // namespace ashlar::search
