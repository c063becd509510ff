// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A lower bound of the seconds of every pipeline schedule on given stages, from the seconds of
// their passes and transfers alone. F, I and W are the seconds of these passes (schedule.hpp), and
// m is the number of micro-batches. Each position has four numbers, in seconds:
//
//   head   before its first pass: the forward passes and transfers of all stages before its first
//          stage, on the longest path. A skip makes a path past the stages between its ends
//   work   m times the passes of all its stages
//   tail   after its last gradient of an input: the gradients and transfers of all stages before
//          its first stage, again on the longest path
//   after  what follows its last pass, such as the synchronization of gradients
//
// Under every schedule a step takes at least head + work + after of any position. If backward
// passes are whole, the tail follows the last backward pass of a position, and then `after` of the
// part of the first stage. So a step takes at least head + work + tail + this `after`. If backward
// passes are split, gradients of parameters may fill the time of the tail. Then a step takes at
// least head + m (F + I) + tail + W of the first stage + `after` of its part. W does not count for
// the position that has the first stage itself. A step also takes at least m times the seconds for
// which one micro-batch keeps a link busy.

#include <algorithm>

#include <ashlar/step/pipeline/costs.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar::pipelines {

namespace detail {

/// Returns the seconds of the busiest link in a step. A link carries what one part sends to
/// another.
constexpr double longest_on_links(schedule const& shape, pipeline_costs const& costs,
                                  skip_transfers const& skips) {
  double longest = 0;
  auto const look = [&](int p, int q) {
    double sent = 0;
    for (int k = 0; k + 1 < shape.stages(); ++k) {
      auto const *here = costs.data() + k, *next = here + 1;
      if (shape.position_of(k) == p && shape.position_of(k + 1) == q) sent += here->send_forward;
      if (shape.position_of(k + 1) == p && shape.position_of(k) == q) sent += next->send_backward;
    }
    for (auto const& it : skips) {
      int const from = shape.position_of(it.from), to = shape.position_of(it.to);
      if (from == p && to == q) sent += it.forward;
      if (to == p && from == q) sent += it.backward;
    }
    if (p != q) longest = std::max(longest, shape.micro_batches * sent);
  };
  for (int p = 0; p < shape.positions; ++p)
    for (int const by : {1, shape.positions - 1}) look(p, (p + by) % shape.positions);
  for (auto const& it : skips) {
    look(shape.position_of(it.from), shape.position_of(it.to));
    look(shape.position_of(it.to), shape.position_of(it.from));
  }
  return longest;
}

}  // namespace detail

/// Returns the bound in seconds. `shape` is a schedule whose order does not matter. `split` says
/// whether the backward pass may be split. `skips` has the transfers of skips between stages.
/// `after` has an entry for each stage: its share of the seconds that follow the last pass of its
/// part. If `after` is empty, no such seconds count.
constexpr double bound(schedule const& shape, pipeline_costs const& costs, bool split,
                       skip_transfers const& skips = {}, std::vector<double> const& after = {}) {
  double const m = shape.micro_batches;
  int const stages = shape.stages();
  auto const at = [&](int stage) -> stage_costs const& { return costs.data()[stage]; };
  // Returns the `seconds` of a transfer between `stage` and the next stage, or 0 if both are on one
  // part.
  auto const between = [&](int stage, double seconds) {
    return shape.position_of(stage) == shape.position_of(stage + 1) ? 0 : seconds;
  };
  scratch<double> head(static_cast<std::size_t>(stages)), tail(head.size());
  for (int k = 1; k < stages; ++k) {
    auto const& before = at(k - 1);
    auto const back = [&](stage_costs const& it) {
      return it.input_gradient + (split ? 0 : it.weight_gradient);
    };
    double& h = head.data()[k];
    double& t = tail.data()[k];
    h = head.data()[k - 1] + before.forward + between(k - 1, before.send_forward);
    t = tail.data()[k - 1] + back(before) + between(k - 1, at(k).send_backward);
    for (auto const& it : skips) {
      if (it.to != k) continue;
      h = std::max(h, head.data()[it.from] + at(it.from).forward + it.forward);
      t = std::max(t, tail.data()[it.from] + back(at(it.from)) + it.backward);
    }
  }
  auto const after_of = [&](int position) {
    double sum = 0;
    for (int c = 0; c < shape.chunks && !after.empty(); ++c)
      sum += after.data()[shape.stage_of(position, c)];
    return sum;
  };
  double longest = detail::longest_on_links(shape, costs, skips);
  double const last = after_of(shape.position_of(0));
  for (int p = 0; p < shape.positions; ++p) {
    int first = stages;
    double work = 0, urgent = 0;
    for (int c = 0; c < shape.chunks; ++c) {
      int const stage = shape.stage_of(p, c);
      first = std::min(first, stage);
      work += m * at(stage).all();
      urgent += m * (at(stage).forward + at(stage).input_gradient);
    }
    double const h = head.data()[first], t = tail.data()[first];
    double const weights = first > 0 ? at(0).weight_gradient : 0;
    longest = std::max({longest, h + work + after_of(p),
                        split ? h + urgent + t + weights + last : h + work + t + last});
  }
  return longest;
}

}  // namespace ashlar::pipelines
