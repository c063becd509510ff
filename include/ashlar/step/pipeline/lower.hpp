// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lowers a pipeline schedule to one common order of all passes and transfers. A transfer is a
// single line, which both its sender and its receiver run. Each part begins its own lines in this
// order. At any time, the parts that run the first unfinished line are ready for it. So no part
// waits for ever, even if every send waits until its receive has begun.
//
// The order follows the replay (replay.hpp): passes are sorted by the time at which they end, and
// each transfer comes right after the pass whose result it carries.

#include <ashlar/step/pipeline/replay.hpp>

namespace ashlar::pipelines {

struct lowered_line {
  bool is_transfer = false;
  int position = 0;  ///< position of the part that runs the pass or sends
  int target = 0;    ///< position of the part that receives; for a pass, the same as `position`
  action what;       ///< the pass; for a transfer, the pass whose result it carries
  /// The number of the skip whose input or gradient the transfer carries. -1 means that it carries
  /// the tensor that the pass makes for the stage before or after.
  int skip = -1;
  /// Number of the transfer among all transfers of the common order, or -1 for a pass.
  int number = -1;
  friend constexpr bool operator==(lowered_line const&, lowered_line const&) = default;
};

/// Returns the lines of a schedule in the common order. Expects a schedule without faults
/// (check.hpp). A skip between stages has lines only if its two stages are on different parts.
constexpr std::vector<lowered_line> lowered(schedule const& s, pipeline_costs const& costs,
                                            skip_transfers const& skips = {}) {
  std::vector<lowered_line> lines;
  int number = 0;
  for (auto const& it : replay(s, costs, skips).sequence) {
    auto const& a = s.order.data()[it.position].data()[it.number];
    lines.push_back({false, it.position, it.position, a});
    int const stage = s.stage_of(it.position, a.chunk);
    int const next = a.what == pass::forward        ? stage + 1
                     : makes_input_gradient(a.what) ? stage - 1
                                                    : -1;
    auto const send = [&](int to, int skip) {
      int const target = s.position_of(to);
      if (target != it.position) lines.push_back({true, it.position, target, a, skip, number++});
    };
    if (next >= 0 && next < s.stages()) send(next, -1);
    for (int k = 0; k < static_cast<int>(skips.size()); ++k) {
      auto const& skip = skips.data()[k];
      if (a.what == pass::forward && skip.from == stage) send(skip.to, k);
      if (makes_input_gradient(a.what) && skip.to == stage) send(skip.from, k);
    }
  }
  return lines;
}

/// Returns the common order in which a training step runs its passes and transfers. The schedule
/// gives the order of each part's passes. Costs decide only how the passes of different parts
/// follow each other, so equal costs are enough. The seconds of the skips are not used.
inline std::vector<lowered_line> assumed_order(schedule const& s, skip_transfers skips = {}) {
  auto const costs = equal_costs(s.stages());
  for (auto& it : skips) it.forward = it.backward = costs[0].send_forward;
  return lowered(s, costs, skips);
}

}  // namespace ashlar::pipelines
