// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the seconds of K micro-batches that take turns on one processor and two links.
//
// A stage is a run of elements between two boundaries at which a tensor moves. The processor
// computes the stage for micro-batch 0, then for 1, and so on, and goes to the next stage. After
// the work of each micro-batch, its move begins. The steps of a move follow one another, each on
// its link. A link carries steps one after the other in the order in which their moves begin. The
// next stage of a micro-batch waits for its move. The timeline (step/timeline.hpp) has the same
// rules.
//
// These seconds since the start of a pass describe its state:
//
//   ready[b]    when moves allow micro-batch b to begin the open stage
//   link        when each link is free
//   processor   when the processor has ended the stages before the open one
//   open        the work of the open stage so far, for one micro-batch
//
// In this order of work and moves, the seconds are the length of a longest path, which is the same
// if time runs backward. So the same numbers, counted from the end of the step, describe the
// backward pass. One number is added: if dx of a layer moves, the layer's weight gradient is
// computed beside this move (step/early_moves.hpp). If time runs backward, this work is at the
// begin of a stage and need not wait for the move (`late`). An element without work in the backward
// pass, such as the end of a residual, hands its dy on as dx. So the same holds if such elements
// lie between the move and the layer.
//
// With two micro-batches and one link, these are the seconds of HiDup (step/duplex_seconds.hpp).

#include <algorithm>

#include <ashlar/search/overlap/turn_chain.hpp>

namespace ashlar::search {

/// The state of one pass of K micro-batches after some elements.
struct turn_times {
  double ready[max_turns]{}, link[turn_links]{};
  double processor = 0, open = 0, late = 0;

  /// Adds work to the open stage, in seconds of one micro-batch. If the work is the first of the
  /// stage, `beside` of these seconds need not wait for the move before the stage.
  constexpr void work(double seconds, double beside = 0) {
    if (open == 0 && ready[0] > 0) late = beside;
    open += seconds;
  }

  /// Returns when the micro-batch ends the open stage, if there is only one micro-batch.
  constexpr double end_of_one() const { return std::max(processor + late, ready[0]) + open - late; }

  /// Ends the open stage by a move of every micro-batch. The steps of a move run in their order, or
  /// in reverse order if `descending` (time runs backward). A move without steps leaves the stage
  /// open, because it costs nothing to go on with the same micro-batch.
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

  /// Returns the most seconds by which this state is later than another one, whatever follows. The
  /// result is negative if this state is earlier. It does not hold if work to come can run beside
  /// the last move in the other state, but not in this one.
  constexpr double behind(turn_times const& other, int turns) const {
    // Micro-batch k ends the open stage at the largest of processor + (k + 1) (open + more) and,
    // for j <= k, ready[j] - late + (k - j + 1) (open + more). Here `more` is work to come. In
    // each of these terms, the difference of the two states is linear in the factor of `open`. So
    // the difference is largest for the least or for the largest factor.
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

/// Returns the seconds of a step whose forward and backward passes have these states at the same
/// place of the chain. The work that remains is that of the open stages of both passes, which form
/// one stage.
constexpr double joined(turn_times const& forward, turn_times const& backward, int turns) {
  double const work = forward.open + backward.open;
  double longest = forward.processor + turns * work + backward.processor;
  for (int k = 0; k < turn_links; ++k)
    longest = std::max(longest, forward.link[k] + backward.link[k]);
  for (int k = 0; k < turns; ++k) {
    // In `backward`, time runs backward, so micro-batch k has the number turns - 1 - k there.
    double const after = backward.ready[turns - 1 - k] - backward.late;
    longest = std::max({longest, forward.processor + (k + 1) * work + after,
                        forward.ready[k] + (turns - k) * work + backward.processor});
    for (int j = 0; j <= k; ++j)
      longest = std::max(longest, forward.ready[j] + (k - j + 1) * work + after);
  }
  return longest;
}

}  // namespace ashlar::search
