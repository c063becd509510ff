// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pipeline schedule as data: the order in which the parts of a mesh run the passes of a training
// step. The net is cut into stages. The parts stand in a row, and the part at each position holds
// one stage or several (chunks). Micro-batches go through all stages forward and then backward.
//
//   F   forward           x -> y
//   B   backward          dy -> dx and the gradients of the parameters
//   I   input gradient    dy -> dx            I and W together are B. The stage before needs only
//   W   weight gradient   dy -> gradients     dx, so W may wait (zero bubble schedules).
//
// The wiring says which stages a part holds if it holds several. With s positions:
//
//   straight   chunk c at position p is stage c s + p (interleaved 1F1B)
//   vee        odd chunks run backwards through the positions: the last part of one chunk is the
//              first part of the next chunk (ZB-V, DualPipeV)

#include <vector>

namespace ashlar::pipelines {

enum class pass : signed char { forward, backward, input_gradient, weight_gradient };

/// A pass of one micro-batch through the stage of one chunk.
struct action {
  pass what = pass::forward;
  int micro_batch = 0;
  int chunk = 0;
  friend constexpr bool operator==(action const&, action const&) = default;
};

enum class wiring : signed char { straight, vee };

struct schedule {
  int positions = 1, micro_batches = 1, chunks = 1;
  wiring wired = wiring::straight;
  std::vector<std::vector<action>> order;  ///< the passes of each position

  constexpr int stages() const { return positions * chunks; }
  constexpr int stage_of(int position, int chunk) const {
    bool const turned = wired == wiring::vee && chunk % 2 == 1;
    return chunk * positions + (turned ? positions - 1 - position : position);
  }
  constexpr int position_of(int stage) const {
    int const chunk = stage / positions, place = stage % positions;
    return wired == wiring::vee && chunk % 2 == 1 ? positions - 1 - place : place;
  }
  constexpr int chunk_of(int stage) const { return stage / positions; }

  friend constexpr bool operator==(schedule const&, schedule const&) = default;
};

/// Returns whether the pass computes the gradient of its input.
constexpr bool makes_input_gradient(pass p) {
  return p == pass::backward || p == pass::input_gradient;
}
/// Returns whether the pass computes the gradients of the parameters.
constexpr bool makes_weight_gradient(pass p) {
  return p == pass::backward || p == pass::weight_gradient;
}

}  // namespace ashlar::pipelines
