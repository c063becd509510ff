// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A lower bound of the seconds of every pipeline schedule on given stages, from the work of the
// stages alone. With F, I, W and the transfers c of a stage, and m micro-batches, position j has
//
//   head   before its first pass: the forward passes and transfers of all stages before its first
//   work   m times the passes of all its stages
//   tail   after its last gradient of an input: the gradients and transfers of all stages before
//
// If backward passes are whole, the last of them is followed by the tail, and a step takes at least
// head + work + tail. If they are split, gradients of parameters may fill the time of the tail, so a
// step takes at least head + work, and at least head + m (F + I) + tail + W of the first stage. A
// link takes at least m times what crosses it.

#include <algorithm>

#include <ashlar/step/pipeline/costs.hpp>

namespace ashlar::pipelines {

/// `shape` is a schedule whose order does not matter. `split` says whether the backward pass may be
/// split.
constexpr double bound(schedule const& shape, pipeline_costs const& costs, bool split) {
  double const m = shape.micro_batches;
  int const stages = shape.stages();
  auto const at = [&](int stage) -> stage_costs const& { return costs.data()[stage]; };
  auto const between = [&](int stage, double seconds) {  // of the transfer between stage, stage + 1
    return shape.position_of(stage) == shape.position_of(stage + 1) ? 0 : seconds;
  };
  double longest = 0;
  for (int p = 0; p < shape.positions; ++p) {
    int first = stages;
    double work = 0, urgent = 0;
    for (int c = 0; c < shape.chunks; ++c) {
      int const stage = shape.stage_of(p, c);
      first = std::min(first, stage);
      work += m * at(stage).all();
      urgent += m * (at(stage).forward + at(stage).input_gradient);
    }
    double head = 0, tail = 0, tail_whole = 0;
    for (int k = 0; k < first; ++k) {
      head += at(k).forward + between(k, at(k).send_forward);
      tail += at(k).input_gradient + between(k, at(k + 1).send_backward);
      tail_whole += at(k).weight_gradient;
    }
    if (split) {
      double const last = first > 0 ? at(0).weight_gradient : 0;
      longest = std::max({longest, head + work, head + urgent + tail + last});
    } else {
      longest = std::max(longest, head + work + tail + tail_whole);
    }
  }
  for (int p = 0; p < shape.positions; ++p)  // what one part sends to the next or to the one before
    for (int const by : {1, shape.positions - 1}) {
      int const q = (p + by) % shape.positions;
      double sent = 0;
      for (int k = 0; k + 1 < stages; ++k) {
        if (shape.position_of(k) == p && shape.position_of(k + 1) == q) sent += at(k).send_forward;
        if (shape.position_of(k + 1) == p && shape.position_of(k) == q)
          sent += at(k + 1).send_backward;
      }
      if (p != q) longest = std::max(longest, m * sent);
    }
  return longest;
}

}  // namespace ashlar::pipelines
