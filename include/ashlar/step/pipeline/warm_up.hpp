// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Schedules in which each part holds one stage, runs some forward passes ahead, and then alternates
// one backward and one forward pass. They differ in the warm-up depth d of each position j, the
// number of forward passes before the first backward pass (s stages, m micro-batches):
//
//   GPipe        d = m                      all forward passes first
//   1F1B         d = min(m, s - j)          as few as keep all parts busy if transfers take no time
//   eager-1F1B   d = min(m, 2 (s - j) - 1)  transfers overlap with passes of other micro-batches
//                                           (cross-mesh resharding, Zhuang et al. 2023, section 4)
//
// GPipe here runs backward passes in the order of the micro-batches, as all schedules do, so that
// all schedules add gradients in the same order.

#include <algorithm>
#include <span>

#include <ashlar/step/pipeline/schedule.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::pipelines {

/// Returns the schedule with the given warm-up depth of each position. Depths above the number of
/// micro-batches count as that number. If a depth is larger than the depth of the position before,
/// the schedule cannot run (check.hpp). Throws ashlar::error if a depth is below 1.
constexpr schedule with_warm_ups(std::span<int const> depths, int micro_batches) {
  schedule s{static_cast<int>(depths.size()), micro_batches, 1, wiring::straight, {}};
  for (int const depth : depths) {
    if (depth < 1)
      throw error(
          "pipelines::with_warm_ups",
          "a warm-up depth is below 1, but a backward pass needs a forward pass before it.");
    int const ahead = std::min(depth, micro_batches);
    std::vector<action> own;
    for (int k = 0; k < ahead; ++k) own.push_back({pass::forward, k});
    for (int k = 0; k < micro_batches; ++k) {
      own.push_back({pass::backward, k});
      if (ahead + k < micro_batches) own.push_back({pass::forward, ahead + k});
    }
    s.order.push_back(static_cast<std::vector<action>&&>(own));
  }
  return s;
}

namespace detail {

template <class Depth>
constexpr schedule with_depth(int positions, int micro_batches, Depth const& depth) {
  std::vector<int> depths;
  for (int j = 0; j < positions; ++j) depths.push_back(depth(j));
  return with_warm_ups(depths, micro_batches);
}

}  // namespace detail

constexpr schedule gpipe(int positions, int micro_batches) {
  return detail::with_depth(positions, micro_batches, [&](int) { return micro_batches; });
}
constexpr schedule one_f_one_b(int positions, int micro_batches) {
  return detail::with_depth(positions, micro_batches, [&](int j) { return positions - j; });
}
constexpr schedule eager(int positions, int micro_batches) {
  return detail::with_depth(positions, micro_batches,
                            [&](int j) { return 2 * (positions - j) - 1; });
}

}  // namespace ashlar::pipelines
