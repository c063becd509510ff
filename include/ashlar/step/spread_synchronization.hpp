// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides where a step begins to synchronize delayed gradients (early_synchronization.hpp). Their
// sums are complete before the step, so all synchronizations could begin with the step. But then
// every other move on their link would wait for all of them. There are two other choices:
//
//   spread_starts      The synchronizations begin one bucket after another, so that they occupy an
//                      equal share of the link all over the step. Another move waits for one bucket
//                      at most, if the predicted seconds are right.
//   undelayed_starts   Each synchronization begins where it would begin without its delay: in the
//                      backward pass, when the sum of this step is complete.

#include <algorithm>
#include <vector>

#include <ashlar/step/buckets.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

constexpr bool ends_synchronization(program const& p, action const& a) {
  return a.kind == action_kind::end_move && p.move_of(a).phase == phase::synchronize;
}

}  // namespace step_detail

/// Spreads the synchronizations of delayed gradients over the step. Returns, for each move of a
/// program, the action after which it begins, or -1 if it may begin with the step. `buckets` has
/// the buckets of the moves. The timeline of `p` on machine `m` says when actions start.
constexpr std::vector<int> spread_starts(program const& p, bucket_numbers const& buckets,
                                         machine const& m) {
  struct delayed_bucket {
    std::vector<int> moves;
    double seconds;
  };
  std::vector<delayed_bucket> list;
  double all = 0;
  for (auto const& queue : step_detail::synchronization_queues(p)) {
    int before = -1;  // the bucket of the previous entry
    double latency = 0;
    for (auto const& e : queue.entries) {
      if (e.action >= 0) continue;  // not delayed
      int const bucket = buckets[static_cast<std::size_t>(e.move)];
      auto const transfer = step_detail::transfer_of(p, e.move, 0, m);
      bool const goes_on = bucket >= 0 && bucket == before;
      if (!goes_on) {
        list.push_back({{}, 0});
        latency = 0;
      }
      double const more = transfer.seconds + std::max(0.0, transfer.latency - latency);
      latency = std::max(latency, transfer.latency);
      list.back().moves.push_back(e.move);
      list.back().seconds += more;
      all += more;
      before = bucket;
    }
  }
  auto const when = timeline_of(p, m);
  std::vector<int> starts(p.moves.size(), -1);
  int last = 0;  // the first end of a synchronization, before which all of them begin
  while (last < static_cast<int>(p.actions.size()) &&
         !step_detail::ends_synchronization(p, p.actions[static_cast<std::size_t>(last)]))
    ++last;
  double const stretch = std::max(1.0, all > 0 ? when.seconds / all : 1.0);
  double begun = 0;  // the seconds of all previous buckets
  for (auto const& b : list) {
    int at = 0;
    while (at < last && when.actions[static_cast<std::size_t>(at)].start < begun * stretch) ++at;
    for (int const k : b.moves) starts[static_cast<std::size_t>(k)] = at - 1;
    begun += b.seconds;
  }
  return starts;
}

/// Returns an entry for each move of a program. If the move synchronizes the delayed gradient of a
/// parameter, the entry is the index of the action that completes the parameter's sum of this step.
/// All other entries are -1.
constexpr std::vector<int> undelayed_starts(program const& p) {
  std::vector<int> starts(p.moves.size(), -1);
  auto const move_of_sum = step_detail::synchronizations(p);
  for (std::size_t v = 0; v < p.values.size(); ++v) {
    if (p.values[v].kind != value_kind::pending || move_of_sum[v] < 0) continue;
    for (std::size_t i = 0; i < p.actions.size(); ++i)
      for (int const sum : p.actions[i].adds)
        if (value const& is = p.value_of(sum); is.kind == value_kind::sum &&
                                               is.element == p.values[v].element &&
                                               is.index == p.values[v].index)
          starts[static_cast<std::size_t>(move_of_sum[v])] = static_cast<int>(i);
  }
  return starts;
}

}  // namespace step
}  // namespace ashlar::search
