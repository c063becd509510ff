// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches for warm-up depths (step/pipeline/warm_up.hpp) with which all parts fit a memory limit,
// or for depths together with delays of the gradients of parameters
// (step/pipeline/delayed_weights.hpp). The depth of a part alone determines how many micro-batches
// it has in flight. But a part also holds tensors that another part has sent early, and their
// number depends on the depths of both parts.
//
//   few lists of depths   all are tried
//   many, or delays       best_warm_ups or delayed_weights chooses the depths, round by round. If
//                         a part exceeds the limit, the next round permits it fewer micro-batches
//                         in flight. If the part has only one already, the next round permits fewer
//                         to the part before it, which then runs less far ahead

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/step/pipeline/best_warm_ups.hpp>
#include <ashlar/step/pipeline/delayed_weights.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>

namespace ashlar::search::detail {

/// Returns all lists of warm-up depths in which no depth exceeds the entry of `most` for its
/// position, nor the depth of the position before. Returns an empty list if there are more than 128
/// such lists.
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

/// Calls keep(order) for orders of passes that make(most) returns for fewer and fewer micro-batches
/// in flight. Stops when an order is within the limit, or when the number of micro-batches in
/// flight cannot be lowered further.
///   most       the most micro-batches that each position may have in flight
///   held       bytes that one more micro-batch in flight takes at each position
///   excess_of  excess_of(order) returns, for each part, the bytes by which it exceeds the limit;
///              they are at most 0 if the part fits
template <class Make, class Keep, class Excess>
void try_fewer(std::vector<int> most, std::vector<std::int64_t> const& held, Make const& make,
               Keep const& keep, Excess const& excess_of) {
  for (std::size_t round = 0; round < 2 * most.size() + 8; ++round) {
    pipelines::schedule const order = make(most);
    keep(order);
    auto const flights = pipelines::in_flight(order);
    bool fits = true;
    auto const excess = excess_of(order);
    for (std::size_t p = 0; p < most.size(); ++p) {
      if (excess[p] <= 0) continue;
      fits = false;
      std::size_t const at = flights[p].held > 1 || p == 0 ? p : p - 1;
      if (flights[at].held == 1) return;
      std::int64_t const fewer = at == p && held[p] > 0 ? excess[p] / held[p] : 1;
      most[at] = static_cast<int>(
          std::max<std::int64_t>(1, flights[at].held - std::max<std::int64_t>(1, fewer)));
    }
    if (fits) return;
  }
}

/// Calls keep(order) for orders of passes with warm-ups, and with delays if `delays` is true.
/// Without delays, if there are few lists of depths, the best order within the limit is one of
/// these orders. The other arguments are those of try_fewer.
template <class Keep, class Excess>
void try_warm_ups_within(int micro_batches, pipelines::pipeline_costs const& costs,
                         pipelines::skip_transfers const& skips, bool delays,
                         std::vector<int> const& most, std::vector<std::int64_t> const& held,
                         Keep const& keep, Excess const& excess_of) {
  if (delays) {
    int const positions = static_cast<int>(most.size());
    try_fewer(
        most, held,
        [&](std::vector<int> const& fewer) {
          return pipelines::delayed_weights(positions, micro_batches, costs, fewer, skips);
        },
        keep, excess_of);
    return;
  }
  if (auto const all = lists_of_depths(most); !all.empty()) {
    for (auto const& depths : all) keep(pipelines::with_warm_ups(depths, micro_batches));
    return;
  }
  try_fewer(
      most, held,
      [&](std::vector<int> const& fewer) {
        auto const depths = pipelines::best_warm_ups(micro_batches, costs, fewer, skips);
        return pipelines::with_warm_ups(depths, micro_batches);
      },
      keep, excess_of);
}

}  // namespace ashlar::search::detail
