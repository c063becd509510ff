// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The seconds of K micro-batches that take turns on one processor and two links.
//
// A stage is a run of elements between two boundaries at which a tensor moves. The processor
// computes the stage for micro-batch 0, then for 1, and so on, and goes to the next stage. Behind
// the work of each micro-batch, its move begins. The steps of a move follow one another, each on its
// link. A link carries its steps one after the other in the order in which their moves begin. The
// next stage of a micro-batch waits for its move. So does the timeline (step/timeline.hpp).
//
// What is past is described by seconds from the begin of the pass: when moves allow micro-batch b to
// begin the open stage (`ready[b]`), when the links are free (`link`), when the processor has ended the stages before
// (`processor`), and the work of the open stage so far (`open`). In this order of work and moves,
// the seconds are a longest path. So they are the same if time runs backward, and the backward pass
// is described by the same numbers, from the end of the step. One thing is added there: the weight
// gradient of a layer whose dx moves is computed beside this move (step/early_moves.hpp). If time runs
// backward, this work at the begin of a stage need not wait for the move (`late`).
//
// With two micro-batches and one link, these are the seconds of HiDup (step/duplex_seconds.hpp).

#include <algorithm>

#include <ashlar/search/overlap/turn_chain.hpp>

namespace ashlar::search {

/// The state of one pass of K micro-batches behind some elements.
struct turn_times {
  double ready[max_turns]{}, link[turn_links]{};
  double processor = 0, open = 0, late = 0;

  /// Adds work to the open stage, in seconds of one micro-batch. `beside` of them need not wait for
  /// the move before the stage if they are the first ones behind it.
  constexpr void work(double seconds, double beside = 0) {
    if (open == 0 && ready[0] > 0) late = beside;
    open += seconds;
  }

  /// Returns when one micro-batch ends the open stage, if it is the only one.
  constexpr double end_of_one() const { return std::max(processor + late, ready[0]) + open - late; }

  /// Ends the open stage by a move of every micro-batch, whose steps are in ascending order, or in
  /// descending order if time runs backward. A move without steps leaves the stage open, because it
  /// costs nothing to go on with the same micro-batch.
  constexpr void move(turn_move const& m, int turns, bool descending) {
    auto const n = m.steps.size();
    if (n == 0) return;
    for (int b = 0; b < turns; ++b) {
      processor = std::max(processor + late, ready[b]) + open - late;
      double end = processor;
      for (std::size_t k = 0; k < n; ++k) {
        turn_step const& s = m.steps[descending ? n - 1 - k : k];
        end = link[s.link] = std::max(link[s.link], end) + s.seconds;
      }
      ready[b] = end;
    }
    open = late = 0;
  }

  /// Returns by how many seconds this state is behind another one at most, whatever follows. The
  /// result is negative if it is ahead.
  constexpr double behind(turn_times const& other, int turns) const {
    // Micro-batch k ends the open stage at the largest of processor + (k + 1) (open + more) and, for
    // j <= k, ready[j] - late + (k - j + 1) (open + more). The multiples of `open` make the
    // difference largest where they are least or largest.
    double const slope = open - other.open;
    double const by = processor - other.processor;
    double most = std::max(by + slope, by + turns * slope);
    for (int k = 0; k < turn_links; ++k) most = std::max(most, link[k] - other.link[k]);
    for (int j = 0; j < turns; ++j) {
      double const later = ready[j] - late - (other.ready[j] - other.late);
      most = std::max({most, later + slope, later + (turns - j) * slope});
    }
    return most;
  }
};

/// Returns the seconds of a forward and a backward pass whose states are known at the same place of
/// the chain, if only the open stages of both follow, which are one stage.
constexpr double joined(turn_times const& forward, turn_times const& backward, int turns) {
  double const work = forward.open + backward.open;
  double longest = forward.processor + turns * work + backward.processor;
  for (int k = 0; k < turn_links; ++k)
    longest = std::max(longest, forward.link[k] + backward.link[k]);
  for (int k = 0; k < turns; ++k) {
    // Micro-batch k is the (turns - 1 - k)-th one if time runs backward.
    double const after = backward.ready[turns - 1 - k] - backward.late;
    longest = std::max({longest, forward.processor + (k + 1) * work + after,
                        forward.ready[k] + (turns - k) * work + backward.processor});
    for (int j = 0; j <= k; ++j)
      longest = std::max(longest, forward.ready[j] + (k - j + 1) * work + after);
  }
  return longest;
}

}  // namespace ashlar::search
