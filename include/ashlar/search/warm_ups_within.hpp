// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches warm-up depths (step/pipeline/warm_up.hpp) below a memory limit. How many micro-batches
// a part holds follows from its own depth. But the number of tensors that another part has sent
// early, and that wait on this part, follows from the depths of both parts.
//
//   few lists of depths   all are tried
//   many                  best_warm_ups chooses. As long as a part exceeds the limit, its largest
//                         depth is lowered, or, if it is 1 already, that of the part before, which
//                         then runs less far ahead

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/step/pipeline/best_warm_ups.hpp>

namespace ashlar::search::detail {

/// Returns all lists of warm-up depths in which no depth exceeds that of `most` at its position or
/// the depth of the position before. Returns an empty list if there are more than 128 such lists.
inline std::vector<std::vector<int>> lists_of_depths(std::vector<int> const& most) {
  std::vector<std::vector<int>> lists{{}};
  for (int const bound : most) {
    std::vector<std::vector<int>> longer;
    for (auto const& own : lists)
      for (int d = own.empty() ? bound : std::min(bound, own.back()); d > 0; --d) {
        longer.push_back(own);
        longer.back().push_back(d);
      }
    if (longer.size() > 128) return {};
    lists = std::move(longer);
  }
  return lists;
}

/// Calls keep(order) for several orders of passes. If there are few lists of depths, the best order
/// within the limit is among them.
///   most       the largest depth of each position for which memory may suffice
///   held       bytes that one more micro-batch in flight takes at each position
///   excess_of  excess_of(order) returns the bytes by which each part exceeds the limit, which are
///              negative if it fits
template <class Keep, class Excess>
void try_warm_ups_within(int micro_batches, pipelines::pipeline_costs const& costs,
                         pipelines::skip_transfers const& skips, std::vector<int> most,
                         std::vector<std::int64_t> const& held, Keep const& keep,
                         Excess const& excess_of) {
  if (auto const all = lists_of_depths(most); !all.empty()) {
    for (auto const& depths : all) keep(pipelines::with_warm_ups(depths, micro_batches));
    return;
  }
  for (std::size_t round = 0; round < 2 * most.size() + 8; ++round) {
    auto const depths = pipelines::best_warm_ups(micro_batches, costs, most, skips);
    auto const order = pipelines::with_warm_ups(depths, micro_batches);
    keep(order);
    bool fits = true;
    auto const excess = excess_of(order);
    for (std::size_t p = 0; p < depths.size(); ++p) {
      if (excess[p] <= 0) continue;
      fits = false;
      std::size_t const at = depths[p] > 1 || p == 0 ? p : p - 1;
      if (depths[at] == 1) return;
      std::int64_t const fewer = at == p && held[p] > 0 ? excess[p] / held[p] : 1;
      most[at] = static_cast<int>(
          std::max<std::int64_t>(1, depths[at] - std::max<std::int64_t>(1, fewer)));
    }
    if (fits) return;
  }
}

}  // namespace ashlar::search::detail
